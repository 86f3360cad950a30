#include "sources/syntax/reader.h"

#include "sources/syntax/libraries.h"
#include "sources/syntax/words.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

constexpr std::array<std::string_view, 11> kAssigningMarks = {"=",  "+=", "-=", "*=",  "/=", "%=",
                                                           "&=", "|=", "^=", "<<=", ">>="};
/// Words after which a name is not that of a declared variable.
constexpr std::array<std::string_view, 16> kNoTypes = {
    "return", "else", "do",  "throw", "case",  "goto",    "new",      "delete",
    "not",    "and",  "or",  "using", "break", "typedef", "co_yield", "namespace"};
constexpr std::array<std::string_view, 18> kTypeWords = {
    "auto",     "bool", "char",   "const",    "constexpr", "double", "enum", "float",  "int",
    "long",     "short", "signed", "static", "struct",   "unsigned", "void",   "class", "inline"};
constexpr std::array<std::string_view, 12> kBehindNames = {"=", ";", "(", "{", ",",   ")",
                                                           ":", "[", "]", "...", "}", ">"};

}  // namespace

Reader::Reader(const Source& source) : source_(&source) {
  std::vector<std::size_t> open;
  around_.reserve(size());
  const auto& partner = source.structure.brackets.partner;
  for (std::size_t i = 0; i < size(); ++i) {
    while (!open.empty() && partner[open.back()] <= i) open.pop_back();
    around_.push_back(open.empty() ? Brackets::kNone : open.back());
    if (partner[i] != Brackets::kNone && partner[i] > i) open.push_back(i);
  }
}

bool Reader::is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 22> kMore = {
      "nullptr",     "goto",   "throw",  "try",      "using",  "operator", "and",     "or",
      "not",         "friend", "static_cast", "dynamic_cast", "const_cast", "reinterpret_cast",
      "thread_local", "virtual", "volatile", "typedef", "union", "asm", "static_assert", "alignas"};
  return is_keyword(word) || one_of(word, kMore);
}

bool Reader::is_assignment(std::size_t at) const {
  return at < size() && tokens()[at].kind == TokenKind::punctuator &&
         one_of(text(at), kAssigningMarks) && !(at > 0 && is(at - 1, "[")) &&
         !(at > 0 && is(at - 1, "operator"));
}

bool Reader::is_right_shift(std::size_t at) const {
  return is(at, ">") && is(at + 1, ">") &&
         text(at).data() + 1 == text(at + 1).data();
}

bool Reader::operand_ends_before(std::size_t at) const {
  if (at == 0) return false;
  return is_name(at - 1) || is_literal(at - 1) || is(at - 1, ")") || is(at - 1, "]") ||
         is(at - 1, "this") || is(at - 1, "true") || is(at - 1, "false");
}

std::size_t Reader::behind(std::size_t at) const {
  const std::size_t partner = source_->structure.brackets.partner[at];
  return partner != Brackets::kNone && partner > at ? partner + 1 : at + 1;
}

std::size_t Reader::opening(std::size_t at) const {
  const std::size_t partner = source_->structure.brackets.partner[at];
  return partner != Brackets::kNone && partner < at ? partner : at;
}

std::size_t Reader::behind_angles(std::size_t at) const {
  if (!is(at, "<")) return at;
  int depth = 0;
  for (std::size_t k = at; k < size();) {
    const Token& token = tokens()[k];
    if (token.is("(") || token.is("[")) {
      k = behind(k);
      continue;
    }
    depth += token.is("<") ? 1 : token.is(">") ? -1 : 0;
    if (depth == 0) return k + 1;
    const bool part = token.kind != TokenKind::punctuator || token.is("<") || token.is(">") ||
                      token.is("::") || token.is(",") || token.is("*") || token.is("&") ||
                      token.is("&&") || token.is("...");
    if (!part) return at;
    ++k;
  }
  return at;
}

std::size_t Reader::before_angles(std::size_t at, std::size_t begin) const {
  int depth = 0;
  for (std::size_t k = at; k > begin; --k) {
    depth += is(k, ">") ? 1 : is(k, "<") ? -1 : 0;
    if (depth == 0) return k;
    if (is(k, ";") || is(k, "{") || is(k, "}")) break;
  }
  return at;
}

std::optional<std::size_t> Reader::bracket_around(std::size_t at) const {
  if (at >= around_.size() || around_[at] == Brackets::kNone) return std::nullopt;
  return around_[at];
}

std::size_t Reader::next_comma(Range range) const {
  for (std::size_t k = range.begin; k < range.end;) {
    if (is(k, ",")) return k;
    const std::size_t angles =
        k > range.begin && (is_name(k - 1) || is(k - 1, "static_cast")) ? behind_angles(k) : k;
    const bool calls = angles > k && (is(angles, "(") || is(angles, "{") || is(angles, "::"));
    const bool open = is(k, "(") || is(k, "[") || is(k, "{");
    k = open ? behind(k) : calls ? angles : k + 1;
  }
  return range.end;
}

std::vector<Range> Reader::split(Range range) const {
  std::vector<Range> parts;
  while (range.begin < range.end) {
    const std::size_t comma = next_comma(range);
    parts.push_back({range.begin, std::min(comma, range.end)});
    range.begin = comma + 1;
  }
  return parts;
}

/// Returns the position after the type of a declaration such as `auto& [a, b]` that has the name at
/// `at`; `begin` if the name is in no such declaration.
std::size_t Reader::binding_type(std::size_t at, std::size_t begin) const {
  std::size_t k = at;
  while (k > begin && (is_name(k) || is(k, ","))) --k;
  if (k <= begin || !is(k, "[")) return begin;
  const std::size_t type = is(k - 1, "&") || is(k - 1, "&&") ? k - 2 : k - 1;
  return is(type, "auto") ? k : begin;
}

/// The type that ends right before `at`; nothing if none does.
std::optional<Range> Reader::type_before(std::size_t at, std::size_t begin) const {
  bool type = false;
  std::size_t k = at;
  while (k > begin) {
    const std::size_t before = k - 1;
    if (is(before, ">")) {
      const std::size_t open = before_angles(before, begin);
      if (open == before) return std::nullopt;
      k = open;
      type = true;
    } else if (is(before, "]") && opening(before) + 1 < before && is(opening(before) + 1, "[")) {
      k = opening(before);  // steps over [[maybe_unused]]
    } else if (is(before, ")") && opening(before) > begin && is(opening(before) - 1, "decltype")) {
      k = opening(before) - 1;
      type = true;
    } else if (is_word(before) && !one_of(text(before), kNoTypes) &&
               (is_name(before) || one_of(text(before), kTypeWords) || is(before, "volatile") ||
                is(before, "mutable") || is(before, "typename") || is(before, "thread_local") ||
                is(before, "extern"))) {
      k = before;
      type = true;
    } else if (is(before, "&") || is(before, "*") || is(before, "&&") ||
               (is(before, "::") && k != at) ||
               (before > begin && is_literal(before) && is(before - 1, "extern"))) {  // extern "C"
      k = before;
    } else {
      break;
    }
  }
  if (!type || k == at || is(k, "&") || is(k, "*") || is(k, "&&")) return std::nullopt;
  if (k > begin) {
    const std::size_t before = k - 1;
    const bool begins = is(before, ";") || is(before, "{") || is(before, "}") || is(before, "(") ||
                        is(before, ",") || is(before, ")") || is(before, ":") ||
                        is(before, "<") || is(before, "else") || is_directive(before);
    if (!begins) return std::nullopt;
  }
  return Range{k, at};
}

/// The type in `double (&rows)[4]` and `double (*function)(double)`, up to the name. Only types of
/// number words and void count, since others look like calls.
std::optional<Range> Reader::type_around(std::size_t at, std::size_t begin) const {
  std::size_t k = at;
  while (k > begin && (is(k - 1, "&") || is(k - 1, "*") || is(k - 1, "const"))) --k;
  if (k == at || k <= begin + 1 || !is(k - 1, "(") || !is(at + 1, ")")) return std::nullopt;
  if (!is_number_type(text(k - 2)) && !is(k - 2, "void")) return std::nullopt;
  const auto type = type_before(k - 1, begin);
  if (!type) return std::nullopt;
  const bool list = is(at + 2, "[") || is(at + 2, "(");
  const bool begins = type->begin == begin || is(type->begin - 1, ";") ||
                      is(type->begin - 1, "{") || is(type->begin - 1, "}");
  if (!list && !(begins && (is(at + 2, "=") || is(at + 2, "{")))) return std::nullopt;
  return Range{type->begin, at};
}

/// The type of b in `double a = 0, b = 0;`, which is the type of a.
std::optional<Range> Reader::type_of_list(std::size_t at, std::size_t begin) const {
  std::size_t k = at;
  while (k > begin && (is(k - 1, "*") || is(k - 1, "&"))) --k;
  if (k <= begin || !is(k - 1, ",")) return std::nullopt;
  std::optional<Range> type;
  for (--k; k > begin;) {
    const std::size_t before = k - 1;
    if (is(before, ")") || is(before, "]") || is(before, "}")) {
      if (is(before, "}") && opening(before) == before) break;
      // The closing brace of a block ends a statement, that of an initializer does not.
      if (is(before, "}") && opening(before) > begin && !is_name(opening(before) - 1) &&
          !is(opening(before) - 1, "=") && !is(opening(before) - 1, ">")) {
        break;
      }
      k = opening(before);
      continue;
    }
    if (is(before, ";") || is(before, "{") || is(before, "}") || is(before, "(")) break;
    if (is_name(before) && (is(before + 1, "=") || is(before + 1, "{") || is(before + 1, "(") ||
                            is(before + 1, "[") || is(before + 1, ","))) {
      if (auto found = type_before(before, begin)) type = found;
    }
    --k;
  }
  return type;
}

std::optional<Reader::Declared> Reader::declared(std::size_t at, std::size_t begin) const {
  if (!is_name(at) || at < begin) return std::nullopt;
  if (const std::size_t bracket = binding_type(at, begin); bracket > begin) {
    const bool reference = is(bracket - 1, "&") || is(bracket - 1, "&&");
    std::size_t first = reference ? bracket - 2 : bracket - 1;
    if (first > begin && is(first - 1, "const")) --first;
    return Declared{{first, bracket}, true};
  }
  if (at + 1 >= size() || !one_of(text(at + 1), kBehindNames) || at == begin) return std::nullopt;
  if (is(at - 1, "::")) return std::nullopt;
  if (is(at - 1, "}")) {  // as in struct S { ... } s;
    const std::size_t open = opening(at - 1);
    for (std::size_t k = open; k > begin && k < at; --k) {
      if (is(k - 1, "struct") || is(k - 1, "class") || is(k - 1, "union")) {
        return Declared{{k - 1, open}};
      }
      if (is(k - 1, ";") || is(k - 1, "{") || is(k - 1, "}") || is(k - 1, ")")) break;
    }
  }
  if (auto type = type_before(at, begin)) return Declared{*type};
  if (auto type = type_around(at, begin)) return Declared{*type};
  if (is(at + 1, ")") || is(at + 1, "]")) return std::nullopt;
  if (auto type = type_of_list(at, begin)) return Declared{*type};
  return std::nullopt;
}

}  // namespace flor::sources
