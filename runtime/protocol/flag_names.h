// The names of Flor's flags: their spellings and help, and the recognition of misspelt ones.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// The flag with underscores: "--replay_flor" for "--replay-flor", since in Flor's flags a dash and
/// an underscore mean the same. Any other word is returned unchanged.
std::string canonical_flag(std::string_view word);

/// Whether the word, with or without its "=...", is the flag that replays, in any spelling.
bool is_replay_flag(std::string_view word);

/// The flag that `word` (without its "=...") was probably meant to be, with its value: "--flor
/// [NAME]" for "-flor". Nothing for a word that is not similar to a flag of Flor, and so belongs to
/// the program. `has_mode`: the command line already says whether to record or to replay.
std::optional<std::string> meant_flag(std::string_view word, bool has_mode);

/// The flag most similar to a word that begins like Flor's flags but is none of them.
std::optional<std::string> nearest_flag(std::string_view word);

/// Names, without dashes, of flags of the program's own that are not to be taken for misspelt ones.
void keep_own_flags(std::initializer_list<std::string_view> names);

/// The text that --flor_help prints: one screen.
std::string flag_help();

}  // namespace flor::detail
