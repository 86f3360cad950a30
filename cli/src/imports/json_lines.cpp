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

/// Stands before the words that were put in quotes here, as no line has it that is read.
constexpr char kMark = '\x01';
constexpr std::string_view kMarkInJson = "\\u0001";

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

std::string with_quoted_numbers(std::string_view line) {
  std::string result;
  std::size_t copied = 0;
  each_word(line, [&](std::size_t begin, std::size_t length) {
    if (!needs_quotes(line.substr(begin, length))) return;
    result.append(line, copied, begin - copied).append("\"").append(kMarkInJson);
    result.append(line, begin, length).append("\"");
    copied = begin + length;
  });
  return result.append(line.substr(copied));
}

/// A text of the log, or a number that was put in quotes here: one beyond the reals stays a text.
ValueWord text_cell(const std::string& text) {
  if (!text.starts_with(kMark)) return {ValueType::text, text};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string word = text.substr(1);
  if (word == "NaN") return {ValueType::real, std::numeric_limits<double>::quiet_NaN()};
  if (word == "Infinity") return {ValueType::real, kInfinity};
  if (word == "-Infinity") return {ValueType::real, -kInfinity};
  return {ValueType::text, word};
}

/// An array, as JSON has it.
std::string array_text(const Read& array) {
  std::string text = array.dump(-1, ' ', false, Read::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find(kMarkInJson, at)) != text.npos;) {
    text.erase(at, kMarkInJson.size());
  }
  return text;
}

void add_members(TableRows& rows, const std::string& prefix, const Read& object, int depth) {
  constexpr int kDepthMax = 8;
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (name.size() > kLoggedNameMax) {
      rows.add(name, {});  // is refused, as all names would be that begin so
    } else if (value.is_object() && depth < kDepthMax) {
      add_members(rows, name + ".", value, depth + 1);
    } else if (value.is_boolean()) {
      rows.add(name, {ValueType::boolean, std::int64_t{value.get<bool>()}});
    } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_number_integer()) {
      rows.add(name, {ValueType::integer, value.get<std::int64_t>()});
    } else if (value.is_number()) {
      rows.add(name, {ValueType::real, value.get<double>()});
    } else if (value.is_string()) {
      rows.add(name, text_cell(value.get_ref<const std::string&>()));
    } else if (!value.is_null()) {
      rows.add(name, {ValueType::json, array_text(value)});
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

/// The object on a line; nullopt if there is none. What is nested very deeply is none.
std::optional<Read> object_of(std::string_view line) {
  if (line.find(kMarkInJson) != line.npos || is_deep(line)) return std::nullopt;
  Read object = Read::parse(with_quoted_numbers(line), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  return object;
}

}  // namespace

void read_json_lines(const store::File& file, const std::string& name, const TableColumns& columns,
                     LoggedRun& run) {
  LineReader reader(file);
  TableRows rows(columns, run);
  std::int64_t other = 0, first_other = 0;
  for (LogLine line; reader.next(line);) {
    std::string_view text = line.content();
    if (line.number == 1) require_text_of_bytes(text);
    if (line.is_rest) continue;
    if (line.number == 1) text = without_mark(text);
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::optional<Read> object = line.is_cut ? std::nullopt : object_of(text);
    if (!object) {
      if (other++ == 0) first_other = line.number;
      continue;
    }
    rows.begin_row();
    add_members(rows, {}, *object, 0);
    each_word(text, [&](std::size_t begin, std::size_t length) {
      if (is_inexact(text.substr(begin, length))) rows.note_inexact(text.substr(begin, length));
    });
  }
  if (rows.rows() == 0) throw UsageError("no line of it is a JSON object");
  if (other > 0) {
    run.remark(fmt::format("{}: {} left out that {} no JSON object, the first is line {}", name,
                           counted(other, "line"), other == 1 ? "is" : "are", first_other));
  }
  rows.finish();
}

}  // namespace flor::cli
