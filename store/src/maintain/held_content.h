// Content that garbage collection and archiving must keep although nothing in the index needs it.
// Recordings may have stored it and noted that only in their journals so far.
#pragma once

#include "database/database.h"

#include <flor/store/digest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// Content that recordings may refer to without asking the index. A commit of a recording refers to
/// the pack that it writes or has filled during the commit, to the last checkpoint of the same
/// writer, and to the last checkpoints of other ranks. So the following is held:
///
///   - packs that are being written or were added meanwhile; packs are examined before journals, so
///     that events about packs that no process writes are in the journals by then;
///   - content of events in journals that the index lacks;
///   - content of the last checkpoint of each stream in journals that are being written.
struct HeldContent {
  /// Lengths of the packs that no process was writing, by name. All other packs are held: they and
  /// their content must not be changed.
  std::map<std::string, std::uint64_t> settled;
  std::set<std::string> packs;  ///< packs that are held although they are in `settled`
  std::unordered_set<Digest> chunks;
  /// Not empty if locks do not show whether another machine writes, with the reason: then all files
  /// written within the last day count as being written.
  std::string why_locks_are_local;
  /// A line for each journal or directory of journals that cannot be read and may need more
  /// content. If there are any, nothing may be removed.
  std::vector<std::string> unread;

  bool holds(const std::string& pack) const {
    return packs.contains(pack) || !settled.contains(pack);
  }
  /// Returns the rows of the held chunks, and of all chunks in held packs.
  std::vector<std::uint32_t> rows(Connection& connection) const;
};

/// Reads the journals: those being written completely, others from where the index has read them.
HeldContent find_held(Database& database);

}  // namespace flor::store
