// Text as a terminal shows it: what is safe to print, how wide it is, what was probably meant.
#pragma once

#include "base/text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

using store::printable;
using store::shell_word;

/// "flor: text" on standard error. Lost if that cannot be written: whoever remarks something goes
/// on.
void print_remark(std::string_view text);

/// "1 checkpoint", "2 checkpoints".
std::string counted(std::int64_t count, const char* noun);

/// Number of terminal columns that printable text takes. Wide characters count 2, combining 0.
std::size_t display_width(std::string_view text);

/// The beginning of printable text, at most `width` columns, the last of them "…" if text was lost.
std::string shortened(std::string_view text, std::size_t width);

/// The candidate that `word` was probably meant to be, if one is near enough.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// ": did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace flor::cli
