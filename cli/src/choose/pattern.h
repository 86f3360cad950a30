// Regular expressions of users, searched for in linear time: no pattern and no text makes a search
// long.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Patterns of ECMAScript, but for back references and looking ahead, which need backtracking.
class Pattern {
 public:
  /// Throws UsageError, one line that begins with `option`.
  Pattern(std::string_view option, std::string_view pattern);

  /// Whether it matches anywhere in `text`. Takes at most as many steps as text and pattern have
  /// bytes, multiplied; repetitions count as often as they are written out. They are added to
  /// `steps`, for tests.
  bool found_in(std::string_view text, std::size_t* steps = nullptr) const;

  /// Whether some part of the pattern is in brackets, but for (?:...).
  bool has_group() const { return has_group_; }
  /// The place of what the first brackets match, and the end of the whole match.
  struct Group {
    std::size_t begin = 0, end = 0, match_end = 0;
  };
  /// The one in the first match at `from` or later, as ECMAScript would find it; brackets that take
  /// no part in that are empty. Linear like `found_in`.
  std::optional<Group> group_in(std::string_view text, std::size_t from = 0) const;

 private:
  friend class PatternCompiler;
  using Set = std::bitset<256>;
  enum class Kind : std::uint8_t {
    set,
    split,  ///< the first way is tried first
    jump,
    begin,
    end,
    border,
    no_border,
    group_begin,
    group_end,
  };
  struct Instruction {
    Kind kind = Kind::set;
    std::int32_t set = 0;           ///< of `sets_`
    std::int32_t first = 1, second = 1;  ///< where it continues, relative to it
  };
  using Code = std::vector<Instruction>;

  bool holds(const Instruction& assertion, std::string_view text, std::size_t at) const;

  Code code_;  ///< one past its end the pattern has matched
  std::vector<Set> sets_;
  bool has_group_ = false;
};

}  // namespace flor::cli
