// Collection of garbage: content that no checkpoint and no logged object needs any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Filesystem;
class Store;
struct Paths;

struct CollectReport {
  std::int64_t chunks = 0;         ///< rows removed, because nothing refers to them
  std::int64_t packs_removed = 0;  ///< packs in which nothing was alive
  /// Packs whose living part was copied to a new one, or whose dead part was freed in place.
  std::int64_t packs_compacted = 0;
  std::int64_t orphans_removed = 0;  ///< files left by killed writers that no row names
  std::int64_t checkpoints = 0;      ///< deleted ones that cannot be brought back any more
  std::int64_t runs = 0;             ///< removed ones, likewise
  std::int64_t journals_sealed = 0;  ///< of writers that have ended, written anew in less space
  std::uint64_t freed_by_sealing = 0;  ///< bytes, in addition to `freed`
  std::uint64_t bytes_before = 0;    ///< of all packs, on the disk
  std::uint64_t freed = 0;           ///< bytes freed on the disk, all in all
  std::uint64_t kept_garbage = 0;    ///< garbage that stays, in packs that are mostly alive
  std::vector<std::string> remarks;  ///< what was left alone, and why
  std::int64_t refused = 0;          ///< number of these about garbage that could not be freed
};

/// A pack is copied without its garbage if less than this share of it is alive: below a half, that
/// frees more than it writes.
inline constexpr double kSparseShare = 0.5;
/// The same if the user asked for a small store.
inline constexpr double kTightShare = 0.95;

/// Removes content that nothing refers to, including deleted checkpoints and removed runs, except
/// those of runs that a process reads (RunUse). First removes rows of chunks in short transactions; then unlinks packs
/// without living chunks, and compacts those of which less than the share `compact_below` is alive.
/// Safe while others record, replay and read: at every instant, and after a crash at any point,
/// every checkpoint can be read. `dry_run` changes nothing and reports what would be done.
/// Throws Busy while another process collects or repairs, Damaged if the catalog cannot be trusted,
/// Error if it cannot be written; what was done until then stays done. A pack that cannot be copied
/// or removed does not keep the others from being freed.
CollectReport collect(const Store& store, bool dry_run, double compact_below = kSparseShare);

/// For a full disk whose store has no index and cannot make one: frees space without needing room,
/// by an index elsewhere, and says so in a line. False if nothing was freed.
bool free_without_index(const Paths& paths, Filesystem& filesystem);

}  // namespace flor::store
