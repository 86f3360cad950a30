// Draws a figure as text: in dots of braille on terminals, otherwise with letters.
#pragma once

#include "plot/figure.h"

#include <string>

namespace flor::cli {

struct TerminalForm {
  int width = 80;   ///< columns, at least 20
  int height = 24;  ///< lines to use at most; but a panel takes at least 8
  bool braille = false;
  bool colored = false;
};

/// Returns lines of at most `form.width` columns, each ending in a newline. A letter in the colour
/// of the curve marks its end; without braille the curves consist of these letters.
std::string drawn_as_text(const Figure& figure, const TerminalForm& form);

}  // namespace flor::cli
