// Regular expressions written by users, searched for in linear time, so that neither a pattern nor
// a text can make a search take very long.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Regular expressions of ECMAScript, except for back references and lookahead, which would need
/// backtracking.
class Pattern {
 public:
  /// Throws UsageError, one line that begins with `option` (such as "--grep").
  Pattern(std::string_view option, std::string_view pattern);

  /// Whether the pattern matches anywhere in `text`. Takes at most |text| * |pattern| steps, where
  /// a counted repetition such as a{9} is as long as its copies. Adds the number of steps to
  /// `steps`, for tests.
  bool found_in(std::string_view text, std::size_t* steps = nullptr) const;

  /// Whether a part of the pattern is in capturing brackets, i.e. not (?:...).
  bool has_group() const { return has_group_; }
  /// The range that the first capturing brackets match, and the end of the whole match.
  struct Group {
    std::size_t begin = 0, end = 0, match_end = 0;
  };
  /// The group of the first match that begins at `from` or later, as ECMAScript would find it. It
  /// is empty if the brackets take no part in the match. Linear like `found_in`.
  std::optional<Group> group_in(std::string_view text, std::size_t from = 0) const;

 private:
  friend class PatternCompiler;
  using Set = std::bitset<256>;
  enum class Kind : std::uint8_t {
    set,
    split,  ///< alternatives: tries `first` before `second`
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
    std::int32_t set = 0;                ///< index in `sets_`
    std::int32_t first = 1, second = 1;  ///< the next instructions, relative to this one
  };
  using Code = std::vector<Instruction>;

  bool holds(const Instruction& assertion, std::string_view text, std::size_t at) const;
  void note_prefix();

  Code code_;  ///< the pattern has matched when the position is code_.size()
  std::vector<Set> sets_;
  std::string prefix_;  ///< bytes with which every match begins: most lines of a log lack them
  bool has_group_ = false;
};

}  // namespace flor::cli
