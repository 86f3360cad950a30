#include "instrument/text_edits.h"

#include "carry/additions.h"

#include <algorithm>

namespace flor::instrument {

bool TextEdits::is_literal(Range range) const {
  std::size_t begin = 0, end = 0;
  return carry::bytes_of(source_, range, begin, end);
}

std::string TextEdits::text_of(Range range) const {
  std::size_t begin = 0, end = 0;
  if (!carry::bytes_of(source_, range, begin, end)) return {};
  return source_.text.substr(begin, end - begin);
}

std::size_t TextEdits::begin_of(std::size_t token) const {
  std::size_t begin = source_.text.size(), end = 0;
  carry::bytes_of(source_, {token, token + 1}, begin, end);
  return begin;
}

std::size_t TextEdits::end_of(std::size_t token) const {
  std::size_t begin = 0, end = source_.text.size();
  carry::bytes_of(source_, {token, token + 1}, begin, end);
  return end;
}

std::size_t TextEdits::line_start(std::size_t at) const {
  const std::size_t end = at == 0 ? std::string::npos : source_.text.rfind('\n', at - 1);
  return end == std::string::npos ? (source_.text.starts_with("\xEF\xBB\xBF") ? 3 : 0) : end + 1;
}

std::string_view TextEdits::newline() const {
  return source_.text.find("\r\n") != std::string::npos ? "\r\n" : "\n";
}

std::string TextEdits::indentation(std::size_t token) const {
  const std::size_t start = line_start(begin_of(token));
  const std::size_t end = std::min(source_.text.find_first_not_of(" \t", start), begin_of(token));
  return source_.text.substr(start, end - start);
}

std::string TextEdits::indentation_unit() const {
  std::string unit;
  for (std::size_t i = 0; i + 1 < source_.tokens.all.size(); ++i) {
    const auto& tokens = source_.tokens.all;
    if (!tokens[i].is("{") || tokens[i + 1].line == tokens[i].line) continue;
    const std::string outer = indentation(i), inner = indentation(i + 1);
    if (inner.size() <= outer.size() || !inner.starts_with(outer)) continue;
    std::string found = inner.substr(outer.size());
    if (unit.empty() || found.size() < unit.size()) unit = std::move(found);
  }
  return unit.empty() ? "  " : unit;
}

std::size_t TextEdits::width() const {
  std::size_t width = 80;
  for (std::size_t at = 0; at < source_.text.size();) {
    const std::size_t end = std::min(source_.text.find('\n', at), source_.text.size());
    width = std::max(width, end - at);
    at = end + 1;
  }
  return std::min<std::size_t>(width, 120);
}

std::string TextEdits::continued(const std::string& indentation) const {
  const std::string unit = indentation_unit();
  return std::string(newline()) + indentation + unit + (unit == "  " ? unit : "");
}

void TextEdits::replace(Range range, std::string text) {
  edits_.push_back({begin_of(range.begin), end_of(range.end - 1), std::move(text)});
}
void TextEdits::insert_before(std::size_t token, std::string text) {
  edits_.push_back({begin_of(token), begin_of(token), std::move(text)});
}
void TextEdits::insert_after(std::size_t token, std::string text) {
  edits_.push_back({end_of(token), end_of(token), std::move(text)});
}

void TextEdits::insert_around(Range range, const std::string& before, const std::string& after,
                              std::size_t dividable) {
  const std::size_t begin = begin_of(range.begin);
  const std::size_t end = std::min(source_.text.find('\n', begin), source_.text.size());
  auto [grown, first] = grown_.try_emplace(source_.line(range.begin), Grown{line_start(begin), 0});
  Grown& line = grown->second;
  const std::size_t added = before.size() + after.size(), at = begin_of(dividable);
  const std::string indent = indentation(dividable);
  if (end - line.from + line.by + added > width() && at > line_start(at) + indent.size()) {
    // A line that continues a statement has its indentation already.
    const std::size_t start = line_start(at);
    const std::size_t last = source_.text.find_last_not_of(" \t\r\n", start == 0 ? 0 : start - 1);
    const bool continues =
        start > 0 && last != std::string::npos &&
        std::string_view(";{}:/").find(source_.text[last]) == std::string_view::npos;
    const std::string fresh = continues ? std::string(newline()) + indent : continued(indent);
    edits_.push_back({end_of(dividable - 1), at, fresh});
    line = {at, fresh.size()};
  }
  line.by += added;
  insert_before(range.begin, before);
  insert_after(range.end - 1, after);
}

void TextEdits::line_above(std::size_t token, std::string_view line) {
  const std::size_t begin = begin_of(token), start = line_start(begin);
  const std::string indent = indentation(token);
  if (start + indent.size() != begin) return line_in_gap(token, indent, line);
  edits_.push_back({start, start, indent + std::string(line) + std::string(newline())});
}

void TextEdits::line_in_gap(std::size_t token, const std::string& indentation,
                            std::string_view line) {
  const std::string& text = source_.text;
  const std::string end(newline()), whole = indentation + std::string(line) + end;
  const std::size_t after = token == 0 ? line_start(0) : end_of(token - 1);
  const std::size_t next = begin_of(token), start = line_start(next);
  std::size_t at = after;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
  if (text.compare(at, 2, "//") == 0) at = std::min(text.find('\n', at), text.size());
  if (token == 0) {
    edits_.push_back({after, after, whole});
  } else if (at < text.size() && text[at] == '\n' && text[at - 1] != '\\') {
    edits_.push_back({at + 1, at + 1, whole});
  } else if (start >= after && text.find_first_not_of(" \t", start) == next) {
    edits_.push_back({start, start, whole});  // below a comment of several lines
  } else if (parted_.insert(next).second) {   // both tokens stand on one line
    const bool plain = text.find_first_not_of(" \t", after) == next;
    edits_.push_back({plain ? after : next, next, end + whole + indentation});
  } else {
    edits_.push_back({next, next, std::string(line) + end + indentation});
  }
}

std::string TextEdits::applied() const {
  std::vector<Edit> edits = edits_;
  std::ranges::stable_sort(edits, {}, [](const Edit& edit) { return edit.begin; });
  std::string out;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < done) continue;  // inside a part that was replaced
    out.append(source_.text, done, edit.begin - done);
    out += edit.text;
    done = edit.end;
  }
  out.append(source_.text, done);
  return out;
}

}  // namespace flor::instrument
