// A figure as text: in dots of braille for terminals, otherwise in plain letters.
#pragma once

#include "plot/figure.h"

#include <string>

namespace flor::cli {

struct TerminalForm {
  int width = 80;   ///< columns, at least 20
  int height = 24;  ///< lines that should not be exceeded; a panel takes at least 8 all the same
  bool braille = false;
  bool colored = false;
};

/// Ends in a newline; no line is wider than asked for. Curves are marked by letters beside their
/// ends (in plain form the curves consist of them), in the colour of the curve.
std::string drawn_as_text(const Figure& figure, const TerminalForm& form);

}  // namespace flor::cli
