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
struct RecordedLoad;

/// A checkpoint that is loaded. Its content is not collected while this lives, unless the store is
/// open for reading only.
struct ChosenInput {
  store::NamedCheckpoint named;
  std::optional<store::RunUse> use;
};

/// The text by which a record knows a load: that of the program, but for a checkpoint of the run of
/// the session its key alone, since `flor::best_checkpoint` finds another one in a replay.
std::string recorded_text(std::string_view text, const Runtime* session);
/// The text that a run logs of it, see kLoadedName.
std::string record_of(std::string_view text, const store::NamedCheckpoint& named);
/// The same of a program to which the error was thrown instead.
std::string record_of(std::string_view text, const Error& error);
/// Throws the class of errors that stands for the status.
[[noreturn]] void throw_as(ExitStatus status, const std::string& message);

/// Finds the checkpoint that the text names now; not one that was deleted. `session` may be null.
/// Throws NotFound where there is none.
ChosenInput choose_input(store::Store& store, Runtime* session, std::string_view text);
/// Finds the one that the record of the session's run has, deleted or not, as long as its content
/// is there. Throws what the record says was thrown, and NotFound where it is gone.
ChosenInput choose_recorded(store::Store& store, Runtime& session, std::string_view text,
                            const RecordedLoad& load);

}  // namespace flor::detail
