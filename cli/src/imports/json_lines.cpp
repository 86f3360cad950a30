#include "imports/json_lines.h"

#include "imports/line_reader.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace flor::cli {
namespace {

using store::ValueType;

/// Members in their order. Each is a new one, found without a search through those before: a line
/// with many takes no quadratic time, and a name that is there twice is not lost.
template <typename Key, typename Value, typename Less, typename Allocator>
struct Members : nlohmann::ordered_map<Key, Value, Less, Allocator> {
  using Base = nlohmann::ordered_map<Key, Value, Less, Allocator>;
  using Base::Base;
  template <typename Name>
  Value& operator[](Name&& name) {
    this->emplace_back(std::forward<Name>(name), Value());
    return this->back().second;
  }
};
using Read = nlohmann::basic_json<Members>;

/// Stands before the words that were put in quotes here, once more than it is anywhere in a row in
/// the line.
constexpr char kMark = '\x01';
constexpr std::string_view kMarkInJson = "\\u0001";

/// Half of a pair of UTF-16 alone, as JSON allows it: no character.
constexpr std::string_view kNoCharacterInJson = "\\ufffd";

/// Calls `visit(begin, length)` for the words outside of texts: numbers, true, false, null.
template <typename Visit>
void each_word(std::string_view line, const Visit& visit) {
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
  };
  bool quoted = false;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (quoted && c == '\\') {
      at += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    const std::size_t begin = at++;
    if (quoted || !is_part(c)) continue;
    while (at < line.size() && is_part(line[at])) ++at;
    visit(begin, at - begin);
  }
}

/// Python's json writes NaN, Infinity and -Infinity, which are no JSON; and of numbers beyond the
/// reals a parser makes 0, or an error.
bool needs_quotes(std::string_view word) {
  if (word == "NaN" || word == "Infinity" || word == "-Infinity") return true;
  if (word.find_first_of("eE") == word.npos && word.size() < 300) return false;
  double number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  return end == last && error == std::errc::result_out_of_range;
}

/// The mark of a line.
std::size_t length_of_mark(std::string_view line) {
  std::size_t most = 0, count = 0, behind = line.npos;
  for (auto at = line.find(kMarkInJson); at != line.npos; at = line.find(kMarkInJson, behind)) {
    count = at == behind ? count + 1 : 1;
    most = std::max(most, count);
    behind = at + kMarkInJson.size();
  }
  return most + 1;
}

/// The number of the escape \uXXXX at `at`; -1 if none is there.
int unit_at(std::string_view line, std::size_t at) {
  constexpr std::size_t kDigits = 4;
  if (!line.substr(at).starts_with("\\u") || line.size() < at + 2 + kDigits) return -1;
  int unit = 0;
  const char* const begin = line.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, unit, 16);
  return error == std::errc() && end == begin + kDigits ? unit : -1;
}

/// Replaces halves of pairs that stand alone, which a parser refuses; says whether
/// there are some.
std::string without_lone_halves(std::string_view line, bool& has_some) {
  const auto is_first = [](int unit) { return unit >= 0xD800 && unit < 0xDC00; };
  const auto is_second = [](int unit) { return unit >= 0xDC00 && unit < 0xE000; };
  constexpr std::size_t kEscape = 6;
  std::string result;
  if (line.find("\\ud") == line.npos && line.find("\\uD") == line.npos) return result = line;
  for (std::size_t at = 0; at < line.size();) {
    const int unit = line[at] == '\\' ? unit_at(line, at) : -1;
    const bool pair = is_first(unit) && is_second(unit_at(line, at + kEscape));
    const std::size_t length = line[at] != '\\' ? 1 : pair ? 2 * kEscape : unit >= 0 ? kEscape : 2;
    const bool is_lone = !pair && (is_first(unit) || is_second(unit));
    has_some = has_some || is_lone;
    result += is_lone ? kNoCharacterInJson : line.substr(at, length);
    at += length;
  }
  return result;
}

std::string with_quoted_numbers(std::string_view line, std::size_t mark) {
  std::string result;
  std::size_t copied = 0;
  each_word(line, [&](std::size_t begin, std::size_t length) {
    if (!needs_quotes(line.substr(begin, length))) return;
    result.append(line, copied, begin - copied).append("\"");
    for (std::size_t i = 0; i < mark; ++i) result.append(kMarkInJson);
    result.append(line, begin, length).append("\"");
    copied = begin + length;
  });
  return result.append(line.substr(copied));
}

/// A text of the log, or a number that was put in quotes here: one beyond the reals stays a text.
ValueWord text_cell(const std::string& text, const std::string& mark) {
  if (!text.starts_with(mark)) return {ValueType::text, text};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string word = text.substr(mark.size());
  if (word == "NaN") return {ValueType::real, std::numeric_limits<double>::quiet_NaN()};
  if (word == "Infinity") return {ValueType::real, kInfinity};
  if (word == "-Infinity") return {ValueType::real, -kInfinity};
  return {ValueType::text, word};
}

void take_marks(Read& value, const std::string& mark) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    if (text.starts_with(mark)) text.erase(0, mark.size());
  } else if (value.is_structured()) {
    for (Read& part : value) take_marks(part, mark);
  }
}

/// An array, as JSON has it.
std::string array_text(Read array, const std::string& mark) {
  take_marks(array, mark);
  return array.dump(-1, ' ', false, Read::error_handler_t::replace);
}

void add_members(TableRows& rows, const std::string& prefix, const Read& object,
                 const std::string& mark, int depth) {
  constexpr int kDepthMax = 8;
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (name.size() > kLoggedNameMax) {
      rows.add(name, {});  // is refused, as all names would be that begin so
    } else if (value.is_object() && depth < kDepthMax) {
      add_members(rows, name + ".", value, mark, depth + 1);
    } else if (value.is_boolean()) {
      rows.add(name, {ValueType::boolean, std::int64_t{value.get<bool>()}});
    } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_number_integer()) {
      rows.add(name, {ValueType::integer, value.get<std::int64_t>()});
    } else if (value.is_number()) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_string()) {
      rows.add(name, text_cell(value.get_ref<const std::string&>(), mark));
    } else if (!value.is_null()) {
      rows.add(name, {ValueType::json, array_text(value, mark)});
    }
  }
}

/// Whether brackets are nested deeper than a parser should follow them.
bool is_deep(std::string_view line) {
  constexpr int kDepthMax = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\') ++at;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if ((c == '{' || c == '[') && ++depth > kDepthMax) return true;
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

/// The object on a line, with its mark; nullopt if there is none. What is nested very deeply is
/// none.
std::optional<Read> object_of(std::string_view line, std::size_t mark) {
  if (is_deep(line)) return std::nullopt;
  Read object = Read::parse(with_quoted_numbers(line, mark), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  return object;
}

}  // namespace

void read_json_lines(const store::File& file, const std::string& name, const TableColumns& columns,
                     LoggedRun& run) {
  LineReader reader(file);
  TableRows rows(columns, run);
  std::int64_t other = 0, first_other = 0, halves = 0, first_halves = 0;
  for (LogLine line; reader.next(line);) {
    std::string_view text = line.content();
    if (line.number == 1) require_text_of_bytes(text);
    if (line.is_rest) continue;
    if (line.number == 1) text = without_mark(text);
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    bool has_halves = false;
    const std::string whole = line.is_cut ? "" : without_lone_halves(text, has_halves);
    const std::string mark(length_of_mark(whole), kMark);
    const std::optional<Read> object = line.is_cut ? std::nullopt : object_of(whole, mark.size());
    if (!object) {
      if (other++ == 0) first_other = line.number;
      continue;
    }
    if (has_halves && halves++ == 0) first_halves = line.number;
    rows.begin_row();
    add_members(rows, {}, *object, mark, 0);
    each_word(text, [&](std::size_t begin, std::size_t length) {
      if (is_inexact(text.substr(begin, length))) rows.note_inexact(text.substr(begin, length));
    });
  }
  if (rows.rows() == 0) throw UsageError("no line of it is a JSON object");
  if (other > 0) {
    run.remark(fmt::format("{}: {} left out that {} no JSON object, the first is line {}", name,
                           counted(other, "line"), other == 1 ? "is" : "are", first_other));
  }
  if (halves > 0) {
    run.remark(
        fmt::format("{}: {} {} halves of characters (\\ud800 to \\udfff alone), the first is "
                    "line {}: U+FFFD stands for them",
                    name, counted(halves, "line"), halves == 1 ? "has" : "have", first_halves));
  }
  rows.finish();
}

}  // namespace flor::cli
