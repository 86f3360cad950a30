#include "carry/insertion.h"

#include "carry/additions.h"

#include <algorithm>

namespace flor::carry {
namespace {

std::size_t line_start(const std::string& text, std::size_t at) {
  const std::size_t newline = at == 0 ? text.npos : text.rfind('\n', at - 1);
  return newline == text.npos ? 0 : newline + 1;
}

/// The white space at the beginning of the line that contains the byte `at`.
std::string indentation_at(const std::string& text, std::size_t at) {
  const std::size_t begin = line_start(text, at);
  const std::size_t end = text.find_first_not_of(" \t", begin);
  return text.substr(begin, std::min(end, text.size()) - begin);
}

std::size_t byte_of(const Source& source, std::size_t token) {
  std::size_t begin = 0, end = 0;
  return bytes_of(source, {token, token + 1}, begin, end) ? begin : source.text.size();
}

/// The position after the line that ends with the token before `token`, and own_line = true. If
/// something else follows on that line, the position right after that token, and own_line = false.
std::size_t gap_before(const Source& source, std::size_t token, bool& own_line) {
  const std::string& text = source.text;
  std::size_t begin = 0, end = 0;
  own_line = false;
  if (token == 0 || !bytes_of(source, {token - 1, token}, begin, end)) return text.size();
  for (std::size_t at = end; at < text.size();) {
    if (text[at] == '\n') {
      own_line = true;
      return at + 1;
    }
    if (text.compare(at, 2, "//") == 0) {
      const std::size_t newline = text.find('\n', at);
      if (newline == text.npos) return end;
      const std::size_t last = text.find_last_not_of("\r\n", newline);
      if (text[last] == '\\') return end;  // a line continuation: the comment goes on
      at = newline;
    } else if (text.compare(at, 2, "/*") == 0) {
      const std::size_t close = text.find("*/", at + 2);
      if (close == text.npos || text.find('\n', at) < close) return end;
      at = close + 2;
    } else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\r') {
      ++at;
    } else {
      return end;
    }
  }
  return end;
}

/// The beginning of the line of `token`, or of the comment lines directly above it.
std::size_t line_above(const Source& source, std::size_t token, bool& own_line) {
  const std::string& text = source.text;
  const std::size_t begin = byte_of(source, token);
  std::size_t at = line_start(text, begin);
  if (at + indentation_at(text, begin).size() != begin) return gap_before(source, token, own_line);
  own_line = true;
  while (at > 0) {
    const std::size_t above = line_start(text, at - 1);
    if (text.compare(std::min(text.find_first_not_of(" \t", above), at), 2, "//") != 0) break;
    at = above;
  }
  return at;
}

std::string laid_out(const Insertion& insertion, const std::string& newline, bool own_line) {
  std::string out = own_line ? "" : newline;
  std::string_view rest = insertion.text;
  while (true) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out += line;
    out += newline;
    if (end == rest.npos) break;
    rest.remove_prefix(end + 1);
  }
  if (insertion.apart) out += newline;
  return out;
}

}  // namespace

InsertedText insert(const Source& source, std::vector<Insertion> insertions) {
  const std::string newline = source.text.find("\r\n") != source.text.npos ? "\r\n" : "\n";
  std::ranges::stable_sort(insertions, {}, &Insertion::token);
  InsertedText out;
  std::size_t done = 0, last = static_cast<std::size_t>(-1);
  bool own_line = false;
  for (const Insertion& insertion : insertions) {
    // Several insertions at one place follow each other.
    const bool again = insertion.token == last && !insertion.apart;
    if (!again) {
      const std::size_t at = insertion.apart ? line_above(source, insertion.token, own_line)
                                             : gap_before(source, insertion.token, own_line);
      out.text.append(source.text, done, std::max(at, done) - done);
      own_line = own_line || at < done;
      done = std::max(at, done);
      last = insertion.token;
    }
    const std::size_t begin = out.text.size();
    out.text += laid_out(insertion, newline, own_line || again);
    out.ranges.emplace_back(begin, out.text.size());
  }
  out.text.append(source.text, done);
  return out;
}

std::string indentation_in(const Source& source, const Block& block, std::size_t index) {
  const auto& statements = block.statements;
  const std::string& text = source.text;
  const auto own_line = [&](const Statement& statement) {
    const std::size_t at = byte_of(source, statement.range.begin);
    return !statement.directive && line_start(text, at) + indentation_at(text, at).size() == at;
  };
  for (const bool before : {true, false}) {
    if (before ? index == 0 : index >= statements.size()) continue;
    const Statement& neighbour = *statements[before ? index - 1 : index];
    if (own_line(neighbour)) return indentation_at(text, byte_of(source, neighbour.range.begin));
  }
  if (block.inner.begin == 0) return {};
  const std::string outer = indentation_at(text, byte_of(source, block.inner.begin - 1));
  return outer + (outer.find('\t') != outer.npos ? "\t" : "  ");
}

std::optional<std::string> text_with_names(const Source& source, Range range,
                                           const std::string& written,
                                           const std::map<std::string, std::string>& names,
                                           const std::string& indentation) {
  std::size_t begin = 0, end = 0;
  if (!bytes_of(source, range, begin, end) || written.size() < end - begin) return std::nullopt;
  const std::string comments = written.substr(0, written.size() - (end - begin));
  std::string text = comments;
  std::size_t at = begin;
  bool lines_in_tokens = false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Token& token = source.tokens.all[i];
    lines_in_tokens = lines_in_tokens || token.text.find('\n') != token.text.npos;
    const auto name = names.find(std::string(token.text));
    if (token.kind != sources::TokenKind::identifier || name == names.end()) continue;
    const std::size_t place = byte_of(source, i);
    text.append(source.text, at, place - at);
    text += name->second;
    at = place + token.text.size();
  }
  text.append(source.text, at, end - at);
  if (lines_in_tokens) return indentation + text;
  const std::string old = indentation_at(source.text, begin);
  std::string out;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t next = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (line > 0 && text.compare(line, old.size(), old) == 0) line += old.size();
    if (text.find_first_not_of("\r\n", line) < next) out += indentation;
    out.append(text, line, next - line);
    line = next;
  }
  return out;
}

std::string without(const Source& source, const std::vector<Range>& ranges) {
  std::string text = source.text;
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    std::size_t begin = 0, end = 0;
    if (!bytes_of(source, *range, begin, end)) continue;
    const std::size_t start = line_start(text, begin);
    const std::size_t behind = text.find_first_not_of(" \t\r", end);
    const bool alone = text.find_first_not_of(" \t", start) == begin &&
                       (behind == text.npos || text[behind] == '\n');
    if (alone) {
      begin = start;
      end = behind == text.npos ? text.size() : behind + 1;
    }
    text.erase(begin, end - begin);
  }
  return text;
}

}  // namespace flor::carry
