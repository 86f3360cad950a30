// Names of Flor's flags: their spelling and meaning, and words that are one slip away.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// "--replay-flor" as "--replay_flor": in Flor's flags a dash and an underscore are the same. Any
/// other word as it is.
std::string canonical_flag(std::string_view word);

/// The flag that a word without its "=..." was probably meant to be, with its value:
/// "--flor [NAME]" for "-flor". Nothing for words that are no near misses, which are the program's.
/// `has_mode`: the command line says already whether to record or to replay.
std::optional<std::string> meant_flag(std::string_view word, bool has_mode);

/// Like meant_flag, for a word that begins like Flor's flags and is none of them.
std::optional<std::string> nearest_flag(std::string_view word);

/// Names without dashes of the program's own flags that are not to be taken for near misses.
void keep_own_flags(std::initializer_list<std::string_view> names);

/// The output of --flor_help: one screen.
std::string flag_help();

}  // namespace flor::detail
