// Writes the header of a loop so that flor::loop drives it, where that is the same loop.
#pragma once

#include "instrument/carried.h"
#include "instrument/text_edits.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::instrument {

/// The new header of a loop.
struct LoopForm {
  /// Why the loop cannot be driven by flor::loop, as a part of a sentence; empty if it can.
  std::string obstacle;
  std::string before, after;  ///< texts around the range of a range-for, `range`
  Range range;
  std::string header;  ///< of any other loop: replaces `whole`, from its keyword on
  Range whole;
  std::string condition;  ///< first statement of the loop; empty: none
  std::size_t first = 0;  ///< the token after the loop's brace, if there is a condition
};

/// `name`: of the loop; `attached`: names of variables for flor::with. `fresh` is a name for a
/// counter that means nothing else there.
LoopForm loop_form(const Program& program, const Carried& carried, const StateTypes& types,
                   const TextEdits& edits, Loop loop, std::string_view name,
                   const std::vector<std::string>& attached, std::string_view fresh);

void write(const LoopForm& form, TextEdits& edits, const Reader& reader);

/// The name of the variable that the header declares; empty if it declares none.
std::string_view loop_variable(const Program& program, Loop loop);

}  // namespace flor::instrument
