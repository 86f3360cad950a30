// Repairs a damaged store: keeps what can be read, removes the rest, and reports it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// A checkpoint or logged object that was removed as unreadable.
struct LostContent {
  std::string what;  ///< as "boundary 3"
  std::string run;   ///< key of the run; empty for an object, which several runs may have logged
  std::string why;

  std::string text() const;  ///< as "boundary 3 of run 0123456789abcdef: ..."
};

struct RepairReport {
  std::int64_t relocated = 0;            ///< chunks for which another sound record was found
  std::int64_t restored = 0;             ///< chunks whose lost rows were restored
  std::int64_t removed = 0;              ///< chunks that cannot be read, or whose base cannot be
                                         ///< read
  std::int64_t rewritten = 0;            ///< headers of packs, and copies of journals, that were
                                         ///< rewritten
  std::vector<LostContent> dropped;      ///< checkpoints and objects that are lost
  std::vector<std::string> quarantined;  ///< files that hold the removed records
  /// Keys of runs with a journal that had lost events. What the catalog knows about these runs was
  /// written to new journals.
  std::vector<std::string> written_anew;
};

/// Makes the store sound as far as its packs allow. Finds other copies of damaged chunks, restores
/// lost rows of chunks if a digest proves them right, removes checkpoints and objects that cannot
/// be read, and moves unreadable records to `quarantine`. Facts that journals have lost and the
/// catalog still knows are written to new journals. Sound content is not changed. Safe while others
/// record and read. Throws Busy while another process collects or repairs, Damaged if SQLite cannot
/// read the catalog, Error if the disk fails. The catalog changes in one transaction or not at all.
RepairReport repair(Store& store);

/// Checks the catalog and the queue as databases, and marks those that are inconsistent to be
/// rebuilt. Call it before the store is opened for `repair`.
void doubt_index(const Store& store);

}  // namespace flor::store
