// Archiving: stores a finished run anew, shorter, and slower to read.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

struct ArchiveOptions {
  /// Longest chain of differences: a chunk needs at most this many others decoded first. 1 to 64.
  std::uint8_t depth_max = 16;
};

struct ArchiveReport {
  std::int64_t checkpoints = 0;
  std::int64_t chunks = 0;          ///< of these checkpoints
  std::int64_t chunks_written = 0;  ///< of these, stored anew
  std::int64_t chunks_pinned = 0;   ///< of these, left alone, because others build upon them
  std::uint64_t raw_bytes = 0;      ///< of the chunks, each counted once
  std::uint64_t before = 0;         ///< their records, headers included
  std::uint64_t after = 0;
};

/// Encodes the chunks of all checkpoints of a run anew: each as the difference to the one before it
/// in chains of up to `depth_max`, in whichever form comes out shortest. Every new record is
/// decoded and compared, synced and read back before the catalog refers to it; the old ones stay
/// where they are until `collect` removes them. If nothing is gained, nothing is changed. Safe
/// while others record, replay and read: at every instant, and after a crash at any point, every
/// checkpoint can be read. Takes disk space for the old and the new records at once. Throws Busy
/// while the run is recorded or resumed, or another process collects, repairs or archives; Damaged
/// if a chunk does not have its digest; Error if the disk fails. Batches committed until then stay.
ArchiveReport archive(Store& store, const Run& run, const ArchiveOptions& options);

}  // namespace flor::store
