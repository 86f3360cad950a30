// Content that a collection of garbage, or an archive, must keep although nothing in the index
// needs it: recordings note only in their journals that they have stored it.
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

/// A commit of a recording refers to content of the pack that it writes or has filled during that
/// commit, of the last checkpoint of the same writer, and of the last ones of other ranks. So all
/// content that recordings will refer to later is held now, or listed in the index by then. Held
/// are:
///
///   - packs that are being written, or were added since; packs are examined first, so that events
///     about the content of settled ones are in journals by now;
///   - content of events in journals that the index lacks;
///   - content of the last checkpoint of each stream in journals that are being written.
struct HeldContent {
  /// Lengths of packs that no process was writing, by name. All other packs are held: they and all
  /// their content stay as they are.
  std::map<std::string, std::uint64_t> settled;
  std::set<std::string> packs;  ///< held though settled
  std::unordered_set<Digest> chunks;
  /// Not empty: locks do not tell whether another machine writes, so all files written within the
  /// last day count as being written.
  std::string why_locks_are_local;
  /// A line for each journal, or directory of journals, that cannot be read now and may need more
  /// content: if there is any, nothing may be removed.
  std::vector<std::string> unread;

  bool holds(const std::string& pack) const { return packs.contains(pack) || !settled.contains(pack); }
  /// Rows of the held chunks, and of all chunks in held packs.
  std::vector<std::uint32_t> rows(Connection& connection) const;
};

/// Reads journals: those that are being written completely, others from the position of the index.
HeldContent find_held(Database& database);

}  // namespace flor::store
