// Repair of a damaged store: what can be read is kept, what cannot is given up, and said.
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
  std::int64_t restored = 0;             ///< chunks whose rows were lost and could be made again
  std::int64_t removed = 0;              ///< chunks that cannot be read, or whose base cannot
  std::int64_t rewritten = 0;            ///< headers of packs and copies of journals, written anew
  std::vector<LostContent> dropped;      ///< checkpoints and objects that are lost
  std::vector<std::string> quarantined;  ///< files with the records that were given up
  /// Keys of runs of which a journal had lost something, and all that the catalog knows is in
  /// another one now.
  std::vector<std::string> written_anew;
};

/// Makes the store sound again as far as its packs allow: finds other copies of damaged chunks,
/// makes lost rows of chunks again (what a checkpoint's digest does not prove is not believed),
/// forgets checkpoints and objects that cannot be read, and moves what is left of unreadable
/// records to `quarantine`. What journals have lost and the catalog still knows is written into
/// new ones. What is sound is not touched. Safe while others record and read.
/// Throws Busy while another process collects or repairs, Damaged if SQLite cannot read the
/// catalog, Error for a disk that fails; the catalog changes in one transaction or not at all.
RepairReport repair(Store& store);

/// Lets the catalog, and the queue, be made again if they contradict themselves as databases. To be
/// called before the store is opened for `repair`.
void doubt_index(const Store& store);

}  // namespace flor::store
