// Text for a terminal: makes it safe to print, measures it, and suggests the nearest known word.
#pragma once

#include "ask/words.h"
#include "base/text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

using ask::did_you_mean;
using ask::nearest;
using store::printable;
using store::shell_word;

/// Prints "flor: text" on standard error. If that fails, the text is lost without an error.
void print_remark(std::string_view text);

/// A number with its noun: "1 checkpoint", "2 checkpoints".
std::string counted(std::int64_t count, const char* noun);

/// The number of terminal columns that a printable text takes. Wide characters take 2, combining
/// ones 0.
std::size_t display_width(std::string_view text);

/// The beginning of a printable text, at most `width` columns wide; a cut text ends in "…".
std::string shortened(std::string_view text, std::size_t width);

}  // namespace flor::cli
