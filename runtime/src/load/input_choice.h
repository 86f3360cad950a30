// The checkpoint that a program means when it loads one, or loaded when it was recorded.
#pragma once

#include "checkpoint/named_checkpoints.h"

#include <flor/store/store.h>

#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

class Runtime;

/// A checkpoint that is loaded. Its content is not collected while this lives.
struct ChosenInput {
  store::NamedCheckpoint named;
  std::string record;  ///< as the run logs it, see kLoadedName
  std::optional<store::RunUse> use;
};

/// Finds the checkpoint: that which the record of the session's run says was loaded here, else the
/// one that the text names now. `session` may be null. Throws NotFound where it is gone, or there is
/// none.
ChosenInput choose_input(store::Store& store, Runtime* session, std::string_view text);

}  // namespace flor::detail
