// Disk usage by experiment, by run, by item.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// Sizes in bytes. An owner that needs a chunk also needs the chunks that it is a difference to.
struct Usage {
  std::string name;              ///< of the experiment or item; key of the run
  std::int64_t checkpoints = 0;  ///< 0 for items
  std::uint64_t raw = 0;         ///< of all its checkpoints, each as if it were alone
  std::uint64_t stored = 0;      ///< records that it needs, each counted once
  std::uint64_t shared = 0;      ///< of these, needed by others of its kind or by logged objects
  std::uint64_t frees = 0;       ///< the rest: a collection frees it once the owner is gone
  bool removed = false;          ///< a run that the next collection drops
};

struct UsageReport {
  std::vector<Usage> experiments, runs;  ///< those with checkpoints, most stored bytes first
  std::uint64_t stored = 0;              ///< records that something needs
  std::uint64_t unreferenced = 0;        ///< records that have rows, but that nothing needs
  std::uint64_t on_disk = 0;             ///< of all files in `packs`
};

/// Reads one state of the catalog, and no packs. Throws Damaged if the catalog makes no sense.
UsageReport usage(const Store& store);
/// Usage by the items of one run; all other items and runs count as others. Most stored bytes
/// first.
std::vector<Usage> item_usage(const Store& store, std::int64_t run);

}  // namespace flor::store
