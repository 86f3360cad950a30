// Repair of a damaged store: keeps what can be read, gives up the rest, and reports it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// A checkpoint or a logged object that was given up.
struct LostContent {
  std::string what;  ///< "boundary 3"
  std::string run;   ///< key; empty for an object, which may be of several
  std::string why;

  std::string text() const;  ///< "boundary 3 of run 0123456789abcdef: ..."
};

struct RepairReport {
  std::int64_t relocated = 0;            ///< chunks for which another sound record was found
  std::int64_t restored = 0;             ///< chunks whose lost rows could be restored
  std::int64_t removed = 0;              ///< chunks that cannot be read, or whose base cannot
  std::int64_t rewritten = 0;            ///< headers of packs and copies of journals, written anew
  std::vector<LostContent> dropped;      ///< checkpoints and objects that are lost
  std::vector<std::string> quarantined;  ///< files with the records that were given up
  /// Keys of runs with a journal that had lost events: all that the catalog knows about them is in
  /// another journal now.
  std::vector<std::string> written_anew;
};

/// Makes the store sound again as far as its packs allow: finds other copies of damaged chunks,
/// restores lost rows of chunks (only those that a digest proves right), forgets checkpoints and
/// objects that cannot be read, and moves what is left of unreadable records to `quarantine`. Facts
/// that journals have lost and the catalog still knows are written into new journals. Sound content
/// is not touched. Safe while others record and read.
/// Throws Busy while another process collects or repairs, Damaged if SQLite cannot read the
/// catalog, Error if the disk fails; the catalog changes in one transaction or not at all.
RepairReport repair(Store& store);

/// Lets the catalog and the queue be rebuilt if they are inconsistent as databases. Call it before
/// the store is opened for `repair`.
void doubt_index(const Store& store);

}  // namespace flor::store
