// Which checkpoint a program means when it loads one, or loaded in the recording.
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

/// A checkpoint to be loaded. While this exists, `flor gc` does not remove its content, unless the
/// store is open for reading only.
struct ChosenInput {
  store::NamedCheckpoint named;
  std::optional<store::RunUse> use;
};

/// The text by which the record identifies a load: the program's text. For a checkpoint of the
/// session's own run it is the key alone, since `flor::best_checkpoint` finds another checkpoint in
/// a replay.
std::string recorded_text(std::string_view text, const Runtime* session);
/// The text that a run logs about a load, see kLoadedName.
std::string record_of(std::string_view text, const store::NamedCheckpoint& named);
/// The text that a run logs about a load that threw `error`.
std::string record_of(std::string_view text, const Error& error);
/// Throws an error of the class that belongs to `status`.
[[noreturn]] void throw_as(ExitStatus status, const std::string& message);

/// Finds the checkpoint that the text names at this time; a deleted one does not count. `session`
/// may be null. Throws NotFound if there is none.
ChosenInput choose_input(store::Store& store, Runtime* session, std::string_view text);
/// Finds the checkpoint that was loaded according to the record of the session's run, even if it
/// was deleted, as long as its content exists. Throws the recorded error if the load threw, and
/// NotFound if the content is gone.
ChosenInput choose_recorded(store::Store& store, Runtime& session, std::string_view text,
                            const RecordedLoad& load);

}  // namespace flor::detail
