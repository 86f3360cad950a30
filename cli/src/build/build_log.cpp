#include "build/build_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <vector>

namespace flor::cli {
namespace {

constexpr std::size_t kLines = 12;  // of an excerpt, at most

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    while (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

bool has(std::string_view line, std::string_view part) { return line.find(part) != line.npos; }

/// Whether a line looks like an error of this rank. A lower rank is more informative: the
/// compiler's own error has rank 0, the build tool's message that something failed comes last.
bool says_error(std::string_view line, std::size_t rank) {
  switch (rank) {
    case 0:
      return (has(line, " error: ") && !line.starts_with("collect2:")) ||
             has(line, "fatal error:") || line.starts_with("error:");
    case 1:
      return line.starts_with("CMake Error");
    case 2:
      return has(line, "undefined reference") || has(line, "cannot find -l") ||
             has(line, "multiple definition");
    default:
      return has(line, "FAILED:") || has(line, "*** ") || has(line, "ninja: error") ||
             has(line, "not found");
  }
}

/// Whether the line begins the next build step or another error.
bool begins_another(std::string_view line) {
  return line.starts_with('[') || line.starts_with("ninja:") || has(line, " error: ") ||
         line.starts_with("make") || line.starts_with("gmake") || line.starts_with("-- ");
}

/// The line with paths relative to `root`. Compiler caches write paths relative to the build
/// directory, others are absolute.
std::string without_root(std::string line, const std::string& root) {
  if (root.empty()) return line;
  const std::string name = root.substr(root.rfind('/') + 1) + "/";
  for (const std::string& prefix : {root + "/", "../" + name}) {
    for (std::size_t at; (at = line.find(prefix)) != line.npos;) {
      line.erase(at, prefix.size());
      while (at >= 3 && line.compare(at - 3, 3, "../") == 0) line.erase(at -= 3, 3);
    }
  }
  return line;
}

}  // namespace

FoundError find_error(std::string_view log, const std::string& root) {
  std::vector<std::string> lines = lines_of(log);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::string& line : lines) line = without_root(std::move(line), root);
  FoundError error;
  if (lines.empty()) return error;
  std::optional<std::size_t> first;
  for (std::size_t rank = 0; rank < 4 && !first; ++rank) {
    const auto found = std::ranges::find_if(
        lines, [&](const std::string& line) { return says_error(line, rank); });
    if (found != lines.end()) first = static_cast<std::size_t>(found - lines.begin());
  }
  std::size_t begin = 0, end = lines.size();
  if (first) {
    begin = *first;
    end = begin + 1;
    while (end < lines.size() && end < begin + kLines && !begins_another(lines[end])) ++end;
    while (lines[end - 1].empty()) --end;
  } else {
    begin = lines.size() - std::min(lines.size(), kLines);
  }
  error.line = first ? lines[begin] : lines.back();
  // CMake explains an error in the lines after "CMake Error".
  for (std::size_t i = begin + 1; i < end && error.line.starts_with("CMake Error"); ++i) {
    const std::size_t text = lines[i].find_first_not_of(' ');
    if (text == std::string::npos) continue;
    error.line += ' ';
    error.line += lines[i].substr(text);
    break;
  }
  for (std::size_t i = begin; i < end; ++i) error.excerpt += lines[i] + "\n";
  return error;
}

}  // namespace flor::cli
