#include "imports/csv_reader.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace flor::cli {
namespace {

/// The separator outside of quotes that is met most often; a comma in doubt.
char separator_of(std::string_view line) {
  constexpr std::string_view kSeparators = ",;\t";
  std::size_t counts[3] = {};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const std::size_t which = kSeparators.find(c);
    if (!quoted && which != kSeparators.npos) ++counts[which];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts)];
}

}  // namespace

/// Collects the lines of the next row. A quote opens a field only at its beginning, so that one in
/// the middle of a text does not swallow the lines that follow.
bool CsvReader::whole_row(CsvRow& row) {
  LogLine line;
  do {
    if (!lines_.next(line)) return false;
    if (line.number == 1) require_text_of_bytes(line.text);
    row_ = line.number == 1 ? without_mark(line.text) : line.text;
    row.line = line.number;
    row.has_end = line.has_end();
    if (line.is_cut) break;
  } while (line.content().find_first_not_of(" \t") == std::string_view::npos);
  if (separator_ == '\0') separator_ = separator_of(row_);
  const auto too_long = [&] {
    return UsageError(fmt::format(
        "line {}: a row of more than {} bytes, or a quote that does not end", row.line, kLineMax));
  };
  if (line.is_cut) throw too_long();
  bool quoted = false, at_begin = true;
  for (std::size_t at = 0;;) {
    for (; at < row_.size(); ++at) {
      const char c = row_[at];
      if (c == '"' && (quoted || at_begin)) {
        const bool doubled = quoted && at + 1 < row_.size() && row_[at + 1] == '"';
        if (doubled) {
          ++at;
        } else {
          quoted = !quoted;
        }
      }
      at_begin = !quoted && c == separator_;
    }
    if (!quoted) break;
    if (!lines_.next(line)) throw too_long();
    if (line.is_cut || row_.size() + line.text.size() > kLineMax) throw too_long();
    row_ += line.text;
    row.has_end = line.has_end();
  }
  if (row_.ends_with('\n')) row_.pop_back();
  if (row_.ends_with('\r')) row_.pop_back();
  return true;
}

void CsvReader::split(CsvRow& row) const {
  const bool has_lines = row_.find('\n') != row_.npos;
  row.is_joined = false;
  std::size_t count = 0;
  const auto begin_field = [&]() -> std::string& {
    if (row.fields.size() <= count) row.fields.emplace_back();
    std::string& field = row.fields[count++];
    field.clear();
    return field;
  };
  for (std::size_t at = 0;; ++at) {
    std::string& field = begin_field();
    bool was_quoted = false;
    if (at < row_.size() && row_[at] == '"') {
      for (++at; at < row_.size(); ++at) {
        if (row_[at] == '"' && (at + 1 == row_.size() || row_[at + 1] != '"')) break;
        if (row_[at] == '"') ++at;
        field += row_[at];
      }
      ++at;
      was_quoted = true;
    }
    const std::size_t end = std::min(row_.find(separator_, at), row_.size());
    row.is_joined = row.is_joined || (has_lines && was_quoted && at < end);
    if (at < end) field.append(row_, at, end - at);
    at = end;
    if (at >= row_.size()) break;
  }
  row.fields.resize(count);
}

bool CsvReader::next(CsvRow& row) {
  if (!whole_row(row)) return false;
  split(row);
  return true;
}

}  // namespace flor::cli
