// The numbers that a user's regular expression finds in printed lines.
#pragma once

#include "choose/pattern.h"
#include "imports/value_word.h"

#include <functional>
#include <string>
#include <string_view>

namespace flor::cli {

class NumberFinder {
 public:
  /// `option` is what messages call the regular expression. `name`: of the metric; if empty, the
  /// word before the brackets. Throws UsageError if there is no such word, or there are no
  /// brackets.
  NumberFinder(std::string option, std::string regex, std::string name = {});

  const std::string& name() const { return name_; }
  /// Calls `visit` for the number in the first brackets of each match, which is an integer or a
  /// real. Throws UsageError for a match that is no number.
  void find(std::string_view line, const std::function<void(ValueWord&&)>& visit) const;

 private:
  std::string option_, regex_, name_;
  Pattern pattern_;
};

}  // namespace flor::cli
