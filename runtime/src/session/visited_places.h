// Counts how often a program does something at each place in its loops.
#pragma once

#include "session/journal.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <string>

namespace flor::detail {

/// Counts the visits to each place for one kind of action. To be used by the session's thread.
class VisitedPlaces {
 public:
  struct Visit {
    store::Place place;
    std::int64_t ordinal = 0;  ///< number of earlier visits to this place
    std::int64_t part = -1;    ///< as in CurrentPlace
    bool suppressed = false;
  };
  /// Counts a visit to the journal's present place.
  Visit next(Journal& journal);

  /// The text that stands for a place and the number of a visit in a record.
  static std::string text(const store::Place& place, std::int64_t ordinal);

 private:
  std::map<std::string, Visit> last_;  ///< by path of loops
};

}  // namespace flor::detail
