// Archiving: re-encodes a finished run so that it takes less space but longer to read.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

struct ArchiveOptions {
  /// Longest chain of differences: at most this many other chunks must be decoded before a chunk.
  /// From 1 to 64.
  std::uint8_t depth_max = 16;
};

struct ArchiveReport {
  std::int64_t checkpoints = 0;
  std::int64_t chunks = 0;          ///< chunks of these checkpoints
  std::int64_t chunks_written = 0;  ///< chunks that were stored again
  std::int64_t chunks_pinned = 0;   ///< chunks left unchanged because chunks of other runs build on
                                    ///< them
  std::uint64_t raw_bytes = 0;      ///< length of the chunks before encoding, each counted once
  std::uint64_t before = 0;         ///< their records, including headers
  std::uint64_t after = 0;
};

/// Encodes the chunks of all checkpoints of a run again: each as the difference to the one before
/// it, in chains of up to `depth_max`, in the form that turns out shortest. Each new record is
/// decoded and compared, synced and read back before the catalog refers to it. The old records stay
/// until `collect` removes them, so disk space is needed for both. If nothing is gained, nothing is
/// changed. Safe while others record, replay and read: every checkpoint can be read at any time,
/// also after a crash at any point. Throws Busy while the run is recorded or resumed, or another
/// process collects, repairs or archives; Damaged if a chunk does not match its digest; Error if
/// the disk fails. Batches committed by then stay.
ArchiveReport archive(Store& store, const Run& run, const ArchiveOptions& options);

}  // namespace flor::store
