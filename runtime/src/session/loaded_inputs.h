// The checkpoints that a program loads, as its record has them: what was loaded once is loaded again.
#pragma once

#include "session/visited_places.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>

namespace flor::detail {

/// The name under which a run logs what it loaded, as JSON:
/// {"checkpoint":"0123456789abcdef@12","digest":"..."}, or {"refused":"...","status":3} where the
/// program got an error.
inline constexpr const char* kLoadedName = "flor.load";

/// Belongs to the session's thread.
class LoadedInputs {
 public:
  /// The program loads a checkpoint where the journal is now: what the record of `run` says that it
  /// loaded here, if it says anything.
  std::optional<std::string> next(const store::Catalog& catalog, const store::Run& run,
                                  Journal& journal);

 private:
  VisitedPlaces places_;
  std::optional<std::map<std::string, std::string>> recorded_;  ///< by place; read at the first load
};

}  // namespace flor::detail
