// Catalogs in an object store. Each describes one run, in a database like a store's own, but its
// packs are parcels.
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

/// A catalog that was read from an object store and is not trusted: its schema must be exactly that
/// of a catalog, nothing in it is executed, every step of a query ends within seconds, and its rows
/// about content are checked. Not thread-safe.
class RunCatalog {
 public:
  /// `cache`: directory where catalogs are kept for later reads; empty: none. Throws Damaged if the
  /// object does not match the manifest or is inconsistent.
  RunCatalog(ObjectStore& objects, const RemoteRun& run, const std::filesystem::path& cache);

  store::Connection& connection() { return *connection_; }
  /// The id of the run in this catalog.
  std::int64_t run() const { return run_; }

 private:
  void open(const std::filesystem::path& file, const RemoteRun& run, const std::string& url);
  void check(const RemoteRun& run);

  std::optional<WorkDirectory> work_;  ///< used if there is no cache
  std::unique_ptr<store::Connection> connection_;
  std::int64_t run_ = 0;
};

/// Decompresses the catalog, a database file, and passes it to `sink` in pieces. Throws Damaged if
/// the object does not match the manifest, or decompresses to much more than catalogs do.
void unpack_catalog(ObjectStore& objects, const RemoteRun& run,
                    const std::function<void(std::span<const std::byte>)>& sink);

/// An empty catalog in a temporary directory, to be filled and sealed.
class NewCatalog {
 public:
  NewCatalog();
  /// Calls `body` in a transaction. The number of transactions affects the bytes of the file.
  void write(const std::function<void(store::Connection&)>& body);
  /// Closes the catalog and returns the object: the compressed file. Equal rows added in the same
  /// order give equal bytes.
  std::vector<std::byte> seal();

 private:
  WorkDirectory work_;
  std::unique_ptr<store::Connection> connection_;
};

/// Returns the directory where a store keeps the most recently used catalogs of object stores, up
/// to 256 MiB; empty if it cannot be written.
std::filesystem::path catalog_cache(const std::filesystem::path& home);

}  // namespace flor::remote
