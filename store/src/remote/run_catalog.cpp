#include "run_catalog.h"

#include "layout.h"
#include "lock_file.h"
#include "schema.h"
#include "sha256.h"

#include <flor/store/error.h>
#include <flor/store/transfer.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace flor::remote {
namespace {

namespace fs = std::filesystem;
using store::Connection;

constexpr int kLevel = 3;

/// More than any catalog of a run has.
constexpr std::uint64_t kCatalogBytesMax = std::uint64_t{1} << 36;

int lock_directory(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (store::lock_file(descriptor, LOCK_EX | LOCK_NB) && store::is_linked(descriptor)) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::byte> content(fs::file_size(path));
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!in) throw Error(fmt::format("cannot read {}", path.string()));
  return content;
}

void write_plain(const fs::path& path, std::span<const std::byte> content) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(content.data()),
            static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw Error(fmt::format("cannot write {}: is the disk full?", path.string()));
}

std::int64_t number(Connection& connection, const char* sql) {
  const auto row = connection(sql);
  return row->step() ? row->integer(0) : 0;
}

/// Where anybody may make files: what is there under this name already may be somebody else's, or
/// lead elsewhere.
fs::path own_directory() {
  const fs::path path = fs::temp_directory_path() / fmt::format("flor-remote-{}", ::geteuid());
  struct stat found = {};
  if ((::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(path.c_str(), &found) != 0) {
    throw Error(fmt::format("cannot make the directory {}: {}: set TMPDIR to where you may write",
                            path.string(), std::generic_category().message(errno)));
  }
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) {
    throw Error(fmt::format(
        "{} is no directory of yours: remove it, or set TMPDIR to another place", path.string()));
  }
  if ((found.st_mode & 077) != 0 && ::chmod(path.c_str(), 0700) != 0) {
    throw Error(fmt::format("cannot keep others out of {}: {}", path.string(),
                            std::generic_category().message(errno)));
  }
  return path;
}

}  // namespace

WorkDirectory::WorkDirectory() {
  const fs::path parent = own_directory();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const int descriptor = lock_directory(entry.path());
    if (descriptor < 0) continue;
    fs::remove_all(entry.path(), ignored);
    ::close(descriptor);
  }
  // Before it is locked, somebody may take it for one that was left.
  while (lock_ < 0) {
    std::string name = (parent / "XXXXXX").string();
    if (!::mkdtemp(name.data())) {
      throw Error(fmt::format("cannot make a directory in {}: {}", parent.string(),
                              std::generic_category().message(errno)));
    }
    path_ = name;
    lock_ = lock_directory(path_);
  }
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

std::vector<std::byte> read_catalog(ObjectStore& objects, const RemoteRun& run) {
  const std::string key = catalog_key(run.catalog);
  const auto damaged = [&](const char* what) {
    return Damaged(fmt::format("{}/{} {}: spool the run again from where it was recorded",
                               objects.url(), key, what));
  };
  const std::vector<std::byte> content = objects.get(key);
  if (sha256_hex(content) != run.catalog) throw damaged("is not what its digest says");
  const unsigned long long size = ZSTD_getFrameContentSize(content.data(), content.size());
  if (size > kCatalogBytesMax) throw damaged("is no catalog");
  std::vector<std::byte> file(size);
  const std::size_t got = ZSTD_decompress(file.data(), file.size(), content.data(), content.size());
  if (ZSTD_isError(got) || got != size) throw damaged("cannot be unpacked");
  return file;
}

RunCatalog::RunCatalog(ObjectStore& objects, const RemoteRun& run, const fs::path& cache) {
  fs::path file = cache / (run.catalog + ".db");
  std::error_code error;
  if (cache.empty()) {
    file = work_.emplace().path() / "catalog.db";
    write_plain(file, read_catalog(objects, run));
  } else if (!fs::exists(file, error)) {
    fs::create_directories(cache);
    store::write_file(file, read_catalog(objects, run));
  }
  connection_ = std::make_unique<Connection>(file, Connection::Mode::immutable);
  if (number(*connection_, "PRAGMA user_version") > store::kFormat) {
    throw Error(fmt::format("the run {} in {} was spooled by a newer Flor: upgrade flor", run.key,
                            objects.url()));
  }
  const auto row = (*connection_)("SELECT id FROM run WHERE key = ?1", run.key);
  if (!row->step()) {
    throw Damaged(fmt::format("the catalog of run {} in {} does not have it: spool it again",
                              run.key, objects.url()));
  }
  run_ = row->integer(0);
}

NewCatalog::NewCatalog() {
  store::Store::open(work_.path(), store::OpenMode::create);
  connection_ =
      std::make_unique<Connection>(work_.path() / "catalog.db", Connection::Mode::existing);
  // Nobody else sees it, and it is made again if it is lost.
  connection_->execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
}

std::vector<std::byte> NewCatalog::seal() {
  connection_.reset();
  return seal_catalog(work_.path() / "catalog.db");
}

std::vector<std::byte> seal_catalog(const fs::path& path) {
  const std::vector<std::byte> file = read_file(path);
  std::vector<std::byte> object(ZSTD_compressBound(file.size()));
  const std::size_t size =
      ZSTD_compress(object.data(), object.size(), file.data(), file.size(), kLevel);
  if (ZSTD_isError(size)) throw Error("cannot compress a catalog");
  object.resize(size);
  return object;
}

fs::path catalog_cache(const fs::path& home) { return home / "cache" / "remote"; }

}  // namespace flor::remote
