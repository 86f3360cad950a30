// Content that a collection of garbage, or an archive, must leave though the index knows nothing that
// needs it: recordings write in their journals alone that they have stored it.
#pragma once

#include "database/database.h"

#include <flor/store/digest.h>

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace flor::store {

/// A commit of a recording refers to content of the pack that it writes or has filled during that
/// commit, of the last checkpoint of the same writer, and of the last ones of other ranks. So what
/// is held now covers all that recordings will refer to later, except what the index lists then:
///
///   - packs that are being written; these are looked at first, so that what a pack that is not was
///     needed for is in journals by now;
///   - what journals say beyond what the index has;
///   - what the last checkpoint of each stream of a journal that is being written lists.
struct HeldContent {
  std::set<std::string> packs;  ///< by name: nothing in them goes, and they stay as they are
  std::unordered_set<Digest> chunks;
  /// A line for each journal, or directory of journals, that cannot be read now and may need more:
  /// nothing may go then.
  std::vector<std::string> unread;

  /// Rows of the held chunks, and of all chunks in held packs.
  std::vector<std::uint32_t> rows(Connection& connection) const;
};

/// Reads journals: all of those that are being written, of the others what the index lacks.
HeldContent find_held(Database& database);

}  // namespace flor::store
