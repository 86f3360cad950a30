// What takes the space: by experiment, by run, by item.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// Sizes in bytes. What a chunk is stored as a difference to belongs to whoever needs the chunk.
struct Usage {
  std::string name;              ///< of the experiment or item; key of the run
  std::int64_t checkpoints = 0;  ///< 0 for items
  std::uint64_t raw = 0;         ///< of all its checkpoints, each as if it were alone
  std::uint64_t stored = 0;      ///< records that it needs, each counted once
  std::uint64_t shared = 0;      ///< of these, needed by others of its kind or by logged objects
  std::uint64_t frees = 0;       ///< the rest: what a collection frees once it is gone
};

struct UsageReport {
  std::vector<Usage> experiments, runs;  ///< those with checkpoints, most stored bytes first
  std::uint64_t stored = 0;              ///< records that anything needs
  std::uint64_t unreferenced = 0;        ///< records that have rows and nothing needs
  std::uint64_t on_disk = 0;             ///< of all files in `packs`
};

/// One state of the catalog, without reading the packs. Throws Damaged where it makes no sense.
UsageReport usage(const Store& store);
/// The items of one run; others are all other items and runs. Most stored bytes first.
std::vector<Usage> item_usage(const Store& store, std::int64_t run);

}  // namespace flor::store
