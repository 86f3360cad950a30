// Disk usage by experiment, run and item.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// The disk usage of an experiment, run or item, in bytes. It includes the chunks that its chunks
/// are differences to.
struct Usage {
  std::string name;              ///< name of the experiment or item; key of the run
  std::int64_t checkpoints = 0;  ///< 0 for items
  std::uint64_t raw = 0;         ///< length of its checkpoints before encoding, without
                                 ///< deduplication
  std::uint64_t stored = 0;      ///< the records that it needs, each counted once
  std::uint64_t shared = 0;      ///< the part of `stored` that others of its kind, or logged
                                 ///< objects, need as well
  std::uint64_t frees = 0;       ///< the rest of `stored`, which garbage collection would free if
                                 ///< this were removed
  bool removed = false;          ///< a removed run, which the next garbage collection drops
};

struct UsageReport {
  std::vector<Usage> experiments, runs;  ///< sorted by `stored`, largest first; without those that
                                         ///< have no checkpoints
  std::uint64_t stored = 0;              ///< all records that something needs
  std::uint64_t unreferenced = 0;        ///< records that have rows but that nothing needs
  std::uint64_t on_disk = 0;             ///< size of all files in `packs`
};

/// Reads one state of the catalog, without reading packs. Throws Damaged if the catalog is
/// inconsistent.
UsageReport usage(const Store& store);
/// Returns the usage of each item of a run, largest `stored` first. Other items and other runs
/// count as others.
std::vector<Usage> item_usage(const Store& store, std::int64_t run);

}  // namespace flor::store
