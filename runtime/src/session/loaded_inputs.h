// The checkpoints that a program loads. In a replay it loads again what its record says.
#pragma once

#include "session/visited_places.h"

#include <flor/store/catalog.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace flor::detail {

/// The name under which a run logs what it loaded, as JSON:
/// {"checkpoint":"0123456789abcdef@12","digest":"...","text":"linear@latest"}, or, if the load
/// threw an error, {"refused":"...","status":3,"text":"linear@latest"}.
inline constexpr const char* kLoadedName = "flor.load";
/// The name for a load that only a replay makes and the record does not have. It is another name so
/// that the recorded loads keep their numbers: values of one name are numbered at each place.
inline constexpr const char* kNewLoadName = "flor.load.hindsight";

struct RecordedLoad {
  std::string record;       ///< see kLoadedName
  bool suppressed = false;  ///< the program is being led to another place
};

/// Finds what the record says about the loads that a program makes. To be used by the session's
/// thread.
class LoadedInputs {
 public:
  /// Called when the program loads the checkpoint that `text` names, at the journal's present
  /// place. Returns what the record of `run` says about this load, if anything. Several loads of
  /// one text at one place are returned in order.
  std::optional<RecordedLoad> next(const store::Catalog& catalog, const store::Run& run,
                                   std::string_view text, Journal& journal);

 private:
  using Key = std::pair<std::string, std::string>;  // place, text
  VisitedPlaces places_;
  std::optional<std::map<Key, std::deque<std::string>>> recorded_;  // read at the first load
};

}  // namespace flor::detail
