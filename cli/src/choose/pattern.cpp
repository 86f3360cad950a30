#include "choose/pattern.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <utility>

namespace flor::cli {
namespace {

constexpr std::size_t kCodeMax = 5000, kPatternMax = 4096;
constexpr int kNestingMax = 100;
constexpr std::size_t kUnbounded = SIZE_MAX;

std::bitset<256> set_of(const std::function<bool(unsigned char)>& has) {
  std::bitset<256> set;
  for (unsigned c = 0; c < 256; ++c) set[c] = has(static_cast<unsigned char>(c));
  return set;
}

bool is_word(unsigned char c) { return c < 128 && (std::isalnum(c) || c == '_'); }

/// The set of a class such as \d or \W; nullopt for other letters.
std::optional<std::bitset<256>> named_set(char letter) {
  const auto lower = static_cast<char>(letter | 0x20);
  std::bitset<256> set;
  if (lower == 'd') {
    set = set_of([](unsigned char c) { return c >= '0' && c <= '9'; });
  } else if (lower == 'w') {
    set = set_of(is_word);
  } else if (lower == 's') {
    set = set_of([](unsigned char c) { return c < 128 && std::isspace(c); });
  } else {
    return std::nullopt;
  }
  return letter == lower ? set : ~set;
}

}  // namespace

class PatternCompiler {
 public:
  using Code = Pattern::Code;
  using Kind = Pattern::Kind;

  PatternCompiler(std::string_view option, std::string_view text, Pattern& pattern)
      : option_(option), text_(text), pattern_(pattern) {}

  void run() {
    if (text_.size() > kPatternMax) wrong("longer than 4096 bytes");
    pattern_.code_ = alternatives(0);
    if (at_ < text_.size()) wrong("a ')' without '('");
  }

 private:
  [[noreturn]] void wrong(std::string_view why) const {
    throw UsageError(fmt::format("{} '{}' is no regular expression: {} (byte {})", option_,
                                 shortened(printable(std::string(text_)), 60), why, at_ + 1));
  }
  bool is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!is(c)) return false;
    ++at_;
    return true;
  }

  Code alternatives(int depth) {
    if (depth > kNestingMax) wrong("too many brackets inside each other");
    Code code = sequence(depth);
    while (take('|')) {
      const Code other = sequence(depth);
      Code both{{.kind = Kind::split, .second = size(code) + 2}};
      append(both, code);
      both.push_back({.kind = Kind::jump, .first = size(other) + 1});
      append(both, other);
      code = std::move(both);
    }
    return code;
  }

  Code sequence(int depth) {
    Code code;
    while (at_ < text_.size() && !is('|') && !is(')')) append(code, repeated(depth));
    return code;
  }

  Code repeated(int depth) {
    const bool can = !is('^') && !is('$');
    const Code once = atom(depth);
    std::size_t fewest = 0, greatest = kUnbounded;
    if (take('*')) {
    } else if (take('+')) {
      fewest = 1;
    } else if (take('?')) {
      greatest = 1;
    } else if (take('{')) {
      fewest = greatest = number();
      if (take(',')) greatest = is('}') ? kUnbounded : number();
      if (!take('}') || greatest < fewest) wrong("repetitions are {N}, {N,} or {N,M}");
    } else {
      return once;
    }
    if (!can) wrong("nothing to repeat");
    const bool few = take('?');
    if (is('*') || is('+') || is('{')) wrong("two repetitions of one thing");
    return times(once, fewest, greatest, few);
  }

  std::size_t number() {
    std::size_t value = 0, digits = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      value = std::min<std::size_t>(value * 10 + digit, kCodeMax + 1);
      ++digits;
    }
    if (digits == 0) wrong("repetitions are {N}, {N,} or {N,M}");
    return value;
  }

  /// The code for `least` to `most` repetitions. `few`: tries to stop before it tries another one.
  Code times(const Code& once, std::size_t least, std::size_t most, bool few) {
    Code code;
    const auto fork = [few](std::int32_t past) {
      Pattern::Instruction split{.kind = Kind::split, .second = past};
      if (few) std::swap(split.first, split.second);
      return split;
    };
    if (once.empty()) return code;
    for (std::size_t i = 0; i < least; ++i) append(code, once);
    if (most == kUnbounded) {
      code.push_back(fork(size(once) + 2));
      append(code, once);
      code.push_back({.kind = Kind::jump, .first = -size(once) - 1});
      return code;
    }
    for (std::size_t i = least; i < most; ++i) {
      code.push_back(fork(size(once) + 1));
      append(code, once);
    }
    return code;
  }

  Code atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return group(depth);
      case '[':
        return set(bracket());
      case '.':
        return set(set_of([](unsigned char byte) { return byte != '\n' && byte != '\r'; }));
      case '^':
        return {{.kind = Kind::begin}};
      case '$':
        return {{.kind = Kind::end}};
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
      case '{':
        --at_;
        wrong("nothing to repeat");
      default:
        return byte(c);
    }
  }

  Code group(int depth) {
    const bool plain = take('?');
    if (plain && !take(':')) wrong("looking ahead is not possible");
    const bool first = !plain && !std::exchange(pattern_.has_group_, pattern_.has_group_ || !plain);
    Code code = alternatives(depth + 1);
    if (!take(')')) wrong("a '(' without ')'");
    if (!first) return code;
    Code group{{.kind = Kind::group_begin}};
    append(group, code);
    group.push_back({.kind = Kind::group_end});
    return group;
  }

  Code escape() {
    if (at_ == text_.size()) wrong("a '\\' at the end");
    const char c = text_[at_];
    if (c == 'b' || c == 'B') {
      ++at_;
      return {{.kind = c == 'b' ? Kind::border : Kind::no_border}};
    }
    if (c >= '1' && c <= '9') wrong("back references are not possible");
    if (auto named = named_set(c)) {
      ++at_;
      return set(*named);
    }
    return byte(escaped_byte());
  }

  char escaped_byte() {
    const char c = text_[at_++];
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == 'r') return '\r';
    if (c == 'f') return '\f';
    if (c == 'v') return '\v';
    if (c == '0') return '\0';
    if (std::isalpha(static_cast<unsigned char>(c))) wrong(fmt::format("\\{} is not known", c));
    return c;
  }

  std::bitset<256> bracket() {
    std::bitset<256> all;
    const bool negated = take('^');
    for (bool first = true; first || !is(']'); first = false) {
      if (at_ == text_.size()) wrong("a '[' without ']'");
      if (first && is(']')) break;
      if (is('\\') && at_ + 1 < text_.size()) {
        if (const auto named = named_set(text_[at_ + 1])) {
          all |= *named;
          at_ += 2;
          continue;
        }
      }
      const auto low = static_cast<unsigned char>(bracket_byte());
      unsigned char high = low;
      if (is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        high = static_cast<unsigned char>(bracket_byte());
      }
      if (high < low) wrong("a range that ends before it begins");
      for (unsigned c = low; c <= high; ++c) all.set(c);
    }
    ++at_;
    return negated ? ~all : all;
  }

  char bracket_byte() {
    if (!take('\\')) return text_[at_++];
    if (at_ == text_.size()) wrong("a '[' without ']'");
    return escaped_byte();
  }

  Code byte(char c) {
    std::bitset<256> one;
    one.set(static_cast<unsigned char>(c));
    return set(one);
  }
  Code set(const std::bitset<256>& bytes) {
    pattern_.sets_.push_back(bytes);
    return {{.kind = Kind::set, .set = static_cast<std::int32_t>(pattern_.sets_.size() - 1)}};
  }

  static std::int32_t size(const Code& code) { return static_cast<std::int32_t>(code.size()); }
  void append(Code& code, const Code& more) const {
    if (code.size() + more.size() > kCodeMax) wrong("too many repetitions");
    code.insert(code.end(), more.begin(), more.end());
  }

  std::string_view option_, text_;
  Pattern& pattern_;
  std::size_t at_ = 0;
};

Pattern::Pattern(std::string_view option, std::string_view pattern) {
  PatternCompiler(option, pattern, *this).run();
  note_prefix();
}

void Pattern::note_prefix() {
  for (const Instruction& step : code_) {
    if (step.kind != Kind::set) return;
    const Set& set = sets_[static_cast<std::size_t>(step.set)];
    if (set.count() != 1) return;
    std::size_t byte = 0;
    while (!set[byte]) ++byte;
    prefix_ += static_cast<char>(byte);
  }
}

bool Pattern::holds(const Instruction& assertion, std::string_view text, std::size_t at) const {
  const auto word = [&](std::size_t i) {
    return i < text.size() && is_word(static_cast<unsigned char>(text[i]));
  };
  const bool border = (at > 0 && word(at - 1)) != word(at);
  switch (assertion.kind) {
    case Kind::begin:
      return at == 0;
    case Kind::end:
      return at == text.size();
    case Kind::border:
      return border;
    case Kind::no_border:
      return !border;
    default:
      return true;
  }
}

std::optional<Pattern::Group> Pattern::group_in(std::string_view text, std::size_t from) const {
  struct Way {
    std::size_t place = 0;
    Group group;
  };
  const std::size_t end = code_.size();
  std::vector<Way> now, next, open;
  std::vector<std::size_t> seen(end + 1, 0);  // the byte at which an instruction was last visited,
                                              // plus 1
  std::optional<Group> found;
  const std::size_t begin = text.find(prefix_, from);
  for (std::size_t at = begin; at <= text.size() && (!found || !now.empty()); ++at) {
    if (!found) now.push_back({});  // a match that begins here has less priority than earlier ones
    next.clear();
    open.assign(now.rbegin(), now.rend());  // the last element is taken first
    while (!open.empty()) {
      Way way = open.back();
      open.pop_back();
      if (std::exchange(seen[way.place], at + 1) == at + 1) continue;
      if (way.place == end) {
        way.group.match_end = at;
        found = way.group;
        break;  // the remaining ways have less priority
      }
      const Instruction& step = code_[way.place];
      const auto go = [&](std::int32_t by) {
        Way on = way;
        on.place = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(way.place) + by);
        open.push_back(on);
      };
      if (step.kind == Kind::set) {
        const auto& set = sets_[static_cast<std::size_t>(step.set)];
        if (at < text.size() && set[static_cast<unsigned char>(text[at])]) {
          ++way.place;
          next.push_back(way);
        }
      } else if (step.kind == Kind::split || step.kind == Kind::jump) {
        if (step.kind == Kind::split) go(step.second);
        go(step.first);
      } else if (holds(step, text, at)) {
        if (step.kind == Kind::group_begin) way.group.begin = way.group.end = at;
        if (step.kind == Kind::group_end) way.group.end = at;
        go(1);
      }
    }
    now.swap(next);
  }
  return found;
}

bool Pattern::found_in(std::string_view text, std::size_t* steps) const {
  const std::size_t end = code_.size();
  std::vector<std::size_t> now, next, open, seen(end + 1, 0);  // seen: the byte at which an
                                                               // instruction was last visited, plus
                                                               // 1
  for (std::size_t at = text.find(prefix_); at <= text.size(); ++at) {
    // A match may begin at every byte. Each instruction is visited once for each byte.
    open = now;
    open.push_back(0);
    next.clear();
    while (!open.empty()) {
      const std::size_t place = open.back();
      open.pop_back();
      if (std::exchange(seen[place], at + 1) == at + 1) continue;
      if (steps) ++*steps;
      if (place == end) return true;
      const Instruction& step = code_[place];
      const auto to = [place](std::int32_t by) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(place) + by);
      };
      if (step.kind == Kind::set) {
        const auto& set = sets_[static_cast<std::size_t>(step.set)];
        const bool has = at < text.size() && set[static_cast<unsigned char>(text[at])];
        if (has) next.push_back(place + 1);
      } else if (step.kind == Kind::split || step.kind == Kind::jump) {
        open.push_back(to(step.first));
        if (step.kind == Kind::split) open.push_back(to(step.second));
      } else if (holds(step, text, at)) {
        open.push_back(place + 1);
      }
    }
    now.swap(next);
  }
  return false;
}

}  // namespace flor::cli
