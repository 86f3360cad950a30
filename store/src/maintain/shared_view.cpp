// Makes a snapshot of a store that is read without locks: a copy of the catalog, and a link to the
// packs.
#include "maintain/shared_view.h"

#include "database/database.h"
#include "database/manifest.h"
#include "database/shared_view_mark.h"
#include "database/store_impl.h"
#include "file/home_files.h"

#include <flor/store/digest.h>
#include <flor/store/store.h>

#include <fcntl.h>

#include <system_error>

namespace flor::store {

void write_snapshot(const Store& store, const std::filesystem::path& directory) {
  const Database& database = *store.impl().database;
  const Paths paths{directory};
  std::error_code error;
  if (std::filesystem::exists(directory, error)) {
    throw_system_error("make the snapshot", directory, EEXIST);
  }
  make_private_directory(directory, error);
  if (error) throw_system_error("make the snapshot", directory, error.value());
  std::filesystem::create_directory_symlink(std::filesystem::absolute(database.paths.packs()),
                                            paths.packs(), error);
  if (error) throw_system_error("make the snapshot", paths.packs(), error.value());
  // Created empty here, because SQLite would let the umask determine the permissions.
  File(database.files, paths.catalog(), O_RDWR | O_CREAT | O_EXCL, kInHome);
  // A separate connection, because copying may take a while.
  (*open_for_reading(database.paths))("VACUUM INTO ?1", std::string_view(paths.catalog().native()))
      ->run();
  File(database.files, paths.catalog(), O_RDWR).sync();
  File(database.files, snapshot_mark(paths), O_WRONLY | O_CREAT | O_EXCL, kInHome).sync();
  sync_directory(database.files, directory);
}

std::filesystem::path index_of(const Store& store) {
  return store.impl().database->paths.catalog();
}

bool is_on_network(const std::filesystem::path& path) {
  return !shared_memory_works(Filesystem::system(), path);
}

std::string object_reference(const Item& item, std::span<const std::byte> content) {
  const Digest digest = item_digest(content);
  return manifest_digest(encode_layout(item), std::span(&digest, 1)).hex();
}

}  // namespace flor::store
