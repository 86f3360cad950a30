// A store of its own for runs in an object store: all of their rows, and none of their content.
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
  /// Copies a run; rank 0 of a group must come first. Returns the number of its checkpoints.
  std::int64_t add(RunCatalog& catalog, const RemoteRun& run);

 private:
  WorkDirectory work_;
  std::shared_ptr<store::Store> store_;
  store::Connection connection_;
};

}  // namespace flor::remote
