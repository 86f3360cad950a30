// The checkpoint that a program means when it loads one, or loaded when it was recorded.
#pragma once

#include "checkpoint/named_checkpoints.h"

#include <flor/store/error.h>
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

/// The same of a program to which the error was thrown instead.
std::string refusal_record(const Error& error);
/// Throws the class of errors that stands for the status.
[[noreturn]] void throw_as(ExitStatus status, const std::string& message);

/// Finds the checkpoint: that which the record of the session's run says was loaded here, else the
/// one that the text names now. `session` may be null. Throws NotFound where it is gone, or there is
/// none, and what the record says was thrown here.
ChosenInput choose_input(store::Store& store, Runtime* session, std::string_view text);

}  // namespace flor::detail
