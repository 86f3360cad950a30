// Catalogs of one run, as they lie in an object store: databases like a store's own, whose packs
// are parcels.
#pragma once

#include "database/sqlite.h"
#include "file/own_directory.h"
#include "remote/remote.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::remote {

using store::WorkDirectory;

/// A catalog that was read from an object store: its schema is exactly that of a catalog, nothing
/// in it is executed, every step of a query on it ends within seconds, and its rows about content
/// are possible. Not thread-safe.
class RunCatalog {
 public:
  /// `cache`: where catalogs are kept so that they need not be read again; empty: nowhere. Damaged
  /// if the object does not match the manifest, or makes no sense.
  RunCatalog(ObjectStore& objects, const RemoteRun& run, const std::filesystem::path& cache);

  store::Connection& connection() { return *connection_; }
  /// Id of the run in this catalog.
  std::int64_t run() const { return run_; }

 private:
  void open(const std::filesystem::path& file, const RemoteRun& run, const std::string& url);
  void check(const RemoteRun& run);

  std::optional<WorkDirectory> work_;  ///< without a cache
  std::unique_ptr<store::Connection> connection_;
  std::int64_t run_ = 0;
};

/// Hands the catalog, as a database file, to `sink` piece by piece. Damaged if the object does not
/// match the manifest, or unpacks to much more than catalogs do.
void unpack_catalog(ObjectStore& objects, const RemoteRun& run,
                    const std::function<void(std::span<const std::byte>)>& sink);

/// An empty catalog in a directory of its own, to be filled and sealed.
class NewCatalog {
 public:
  NewCatalog();
  /// Calls `body` in a transaction of its own. The file counts these, too.
  void write(const std::function<void(store::Connection&)>& body);
  /// Closes it and returns the object: the file, compressed. The same rows, added in the same
  /// order, give the same bytes.
  std::vector<std::byte> seal();

 private:
  WorkDirectory work_;
  std::unique_ptr<store::Connection> connection_;
};

/// Where a store keeps catalogs of object stores: the most recently used, up to 256 MiB. Empty
/// where it cannot be written.
std::filesystem::path catalog_cache(const std::filesystem::path& home);

}  // namespace flor::remote
