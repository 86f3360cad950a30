// The checkpoints that a program loads, as its record has them: what was loaded is loaded again.
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
/// {"checkpoint":"0123456789abcdef@12","digest":"...","text":"linear@latest"}, or
/// {"refused":"...","status":3,"text":"linear@latest"} where the program got an error.
inline constexpr const char* kLoadedName = "flor.load";
/// The same of a load that a replay comes to and the record does not have. It has another name,
/// since values of one name are counted at their place, and the recorded ones keep their numbers.
inline constexpr const char* kNewLoadName = "flor.load.hindsight";

struct RecordedLoad {
  std::string record;       ///< see kLoadedName
  bool suppressed = false;  ///< the program is on its way to where it goes on
};

/// Belongs to the session's thread.
class LoadedInputs {
 public:
  /// The program loads the checkpoint that `text` names where the journal is now: what the record
  /// of `run` says that it loaded here under this text, if it says anything. Several loads of one
  /// text at one place come in their order.
  std::optional<RecordedLoad> next(const store::Catalog& catalog, const store::Run& run,
                                   std::string_view text, Journal& journal);

 private:
  using Key = std::pair<std::string, std::string>;  // place, text
  VisitedPlaces places_;
  std::optional<std::map<Key, std::deque<std::string>>> recorded_;  // read at the first load
};

}  // namespace flor::detail
