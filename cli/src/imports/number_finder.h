// The numbers that a user's regular expression finds in printed lines.
#pragma once

#include "choose/pattern.h"
#include "imports/value_word.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace flor::cli {

/// Without the escape sequences of a terminal, such as colours, whose digits are no numbers of the
/// line (ECMA-48: ESC [ to a final byte, ESC ] to BEL or ESC and a backslash, others of two or
/// three bytes).
std::string without_escapes(std::string_view line);

/// Counts what was taken of lines and is a part of a number there, as 1.5 of 1.5e-05.
class CutNumbers {
 public:
  /// Returns whether the part of the line is a part of a number.
  bool note(std::string_view line, const Pattern::Group& part);
  bool any() const { return count_ > 0; }
  /// "'1.5' of '1.5e-05', in 3 places".
  std::string text() const;

 private:
  std::int64_t count_ = 0;
  std::string part_, whole_;  ///< of the first
};

class NumberFinder {
 public:
  /// `option` is what messages call the regular expression. `name`: of the metric; if empty, the
  /// word before the brackets. Throws UsageError if there is no such word, or there are no
  /// brackets.
  NumberFinder(std::string option, std::string regex, std::string name = {});

  const std::string& name() const { return name_; }
  /// Calls `visit` for the number in the first brackets of each match, which is an integer or a
  /// real. Throws UsageError for a match that is no number.
  void find(std::string_view line, const std::function<void(ValueWord&&)>& visit);
  /// A line about numbers of which only a part was found; empty if there were none.
  std::string doubt() const;

 private:
  std::string option_, regex_, name_;
  Pattern pattern_;
  CutNumbers cut_;
};

}  // namespace flor::cli
