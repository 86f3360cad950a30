// Where in its loops a program does something, and how often it did that there before.
#pragma once

#include "session/journal.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <string>

namespace flor::detail {

/// Counts one thing that a program does by the places at which it does it. Belongs to the session's
/// thread.
class VisitedPlaces {
 public:
  struct Visit {
    store::Place place;
    std::int64_t ordinal = 0;  ///< counts the visits of this place
    std::int64_t part = -1;    ///< as in CurrentPlace
    bool suppressed = false;
  };
  /// The program does it where the journal is now.
  Visit next(Journal& journal);

  /// A text for a place in a record, with the ordinal there.
  static std::string text(const store::Place& place, std::int64_t ordinal);

 private:
  std::map<std::string, Visit> last_;  ///< by path
};

}  // namespace flor::detail
