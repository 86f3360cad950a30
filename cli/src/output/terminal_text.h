// Text as a terminal shows it: made safe to print, measured, and corrected by nearest matches.
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

/// Prints "flor: text" on standard error. If that fails the text is lost, and no error is thrown.
void print_remark(std::string_view text);

/// "1 checkpoint", "2 checkpoints".
std::string counted(std::int64_t count, const char* noun);

/// Number of terminal columns that printable text takes. Wide characters count 2, combining ones 0.
std::size_t display_width(std::string_view text);

/// The beginning of printable text, at most `width` columns, the last of them "…" if text was cut.
std::string shortened(std::string_view text, std::size_t width);

/// The candidate that `word` probably means, if one is near enough.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// ": did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace flor::cli
