// Garbage collection: removes content that no checkpoint and no logged object needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Filesystem;
class Store;
struct Paths;

struct CollectReport {
  std::int64_t chunks = 0;         ///< rows removed because nothing refers to them
  std::int64_t packs_removed = 0;  ///< packs without any needed content
  /// Packs whose needed part was copied to a new pack, or whose garbage was freed in place.
  std::int64_t packs_compacted = 0;
  std::int64_t orphans_removed = 0;  ///< files without a row, left by killed writers
  std::int64_t checkpoints = 0;      ///< deleted checkpoints that cannot be restored any more
  std::int64_t runs = 0;             ///< removed runs that cannot be restored any more
  std::int64_t journals_sealed = 0;  ///< journals of ended writers that were rewritten in less
                                     ///< space
  std::uint64_t freed_by_sealing = 0;  ///< bytes, in addition to `freed`
  std::uint64_t bytes_before = 0;    ///< size of all packs on disk
  std::uint64_t freed = 0;           ///< bytes freed on disk in total
  std::uint64_t kept_garbage = 0;    ///< garbage that remains in packs of mostly needed content
  std::vector<std::string> remarks;  ///< what was not removed, and why
  std::int64_t refused = 0;          ///< number of remarks about garbage that could not be freed
};

/// A pack is copied without its garbage if less than this share of it is needed. Below one half,
/// this frees more bytes than it writes.
inline constexpr double kSparseShare = 0.5;
/// The share to use if the user asks for a store as small as possible.
inline constexpr double kTightShare = 0.95;

/// Removes content that nothing refers to, including deleted checkpoints and removed runs, except
/// those of runs that a process reads (RunUse). First deletes rows of chunks in short transactions;
/// then deletes packs without needed chunks, and compacts those of which less than the share
/// `compact_below` is needed. Safe while others record, replay and read: every checkpoint can be
/// read at any time, also after a crash at any point. `dry_run` changes nothing and reports what
/// would be done. Throws Busy while another process collects or repairs, Damaged if the catalog
/// cannot be trusted, Error if it cannot be written; what was done by then stays. If a pack cannot
/// be copied or removed, the others are still freed.
CollectReport collect(const Store& store, bool dry_run, double compact_below = kSparseShare);

/// For a full disk whose store has no index and no room for one: frees space with the help of an
/// index outside the home, and prints a line that says so. Returns false if nothing was freed.
bool free_without_index(const Paths& paths, Filesystem& filesystem);

}  // namespace flor::store
