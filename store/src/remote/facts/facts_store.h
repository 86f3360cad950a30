// A temporary store that holds all rows, but no content, of runs in an object store.
#pragma once

#include "remote/facts/run_catalog.h"

#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace flor::remote {

class FactsStore {
 public:
  FactsStore();

  const std::filesystem::path& directory() const { return work_.path(); }
  store::Store& store() { return *store_; }
  store::Connection& connection() { return connection_; }
  /// Copies the facts of a run; rank 0 of a group must be added first. Returns the number of its
  /// checkpoints.
  std::int64_t add(RunCatalog& catalog, const RemoteRun& run);

 private:
  WorkDirectory work_;
  std::shared_ptr<store::Store> store_;
  store::Connection connection_;
};

}  // namespace flor::remote
