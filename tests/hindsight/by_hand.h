// The versions of a small training, the log statements that its newest one lacks, and where a
// person puts them in each version.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace flor::testing {

/// Statements that a person adds behind a line.
struct ByHand {
  std::string line;  ///< the only one of this text, white space at its ends apart
  std::string text;
};

/// What a person does to a version.
struct VersionByHand {
  std::string name;                    ///< of the file in tests/hindsight/history
  std::vector<ByHand> added;           ///< what can be asked of it, in order of the lines
  std::vector<std::string> not_there;  ///< metrics that it cannot have
};

inline std::string read_history(const std::string& name) {
  std::ifstream in(std::string(FLOR_SOURCE_DIR "/tests/hindsight/history/") + name);
  if (!in) throw std::runtime_error("no " + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// With these statements on lines of their own, indented like the line before.
inline std::string add_by_hand(const std::string& text, const std::vector<ByHand>& added) {
  std::string out = text;
  for (auto edit = added.rbegin(); edit != added.rend(); ++edit) {
    const std::size_t at = out.find(edit->line);
    if (at == out.npos || out.find(edit->line, at + 1) != out.npos) {
      throw std::runtime_error("not the only line: " + edit->line);
    }
    const std::size_t start = out.rfind('\n', at) + 1, end = out.find('\n', at) + 1;
    const std::string indentation = out.substr(start, out.find_first_not_of(" \t", start) - start);
    std::string lines;
    for (std::size_t line = 0; line < edit->text.size();) {
      const std::size_t next = std::min(edit->text.find('\n', line), edit->text.size() - 1) + 1;
      lines += indentation + edit->text.substr(line, next - line);
      line = next;
    }
    out.insert(end, lines + "\n");
  }
  return out;
}

/// The work tree: the newest version with what a person asks now.
inline const std::vector<ByHand>& questions() {
  static const std::vector<ByHand> all = {
      {"#include <algorithm>", "#include <cmath>"},
      {"distance += (weight - target) * (weight - target);", "flor::log(\"so_far\", distance);"},
      {"flor::log(\"loss\", loss);", "flor::log(\"relative\", loss / sum);"},
      {"flor::log(\"mean\", sum / 6);",
       "const double first = std::sqrt(std::abs(net.weights[0]));\n"
       "flor::log(\"first\", first);\n"
       "if (epoch % 2 == 0) {\n"
       "  // How fast it still goes.\n"
       "  flor::log(\"speed\", net.velocity[0] * rate);\n"
       "}"},
  };
  return all;
}

/// Newest first.
inline const std::vector<VersionByHand>& history_by_hand() {
  const auto in_epoch = [](const std::string& line, const std::string& weights,
                           const std::string& velocity, const std::string& rate) {
    std::string text = "const double first = std::sqrt(std::abs(" + weights +
                       "[0]));\nflor::log(\"first\", first);";
    if (!velocity.empty()) {
      text += "\nif (epoch % 2 == 0) {\n  // How fast it still goes.\n  flor::log(\"speed\", " +
              velocity + "[0] * " + rate + ");\n}";
    }
    return ByHand{line, text};
  };
  const std::string mean = "flor::log(\"mean\", sum / 6);";
  static const std::vector<VersionByHand> all = {
      {"v7.cpp",
       {{"#include <vector>", "#include <cmath>"}, questions()[1], questions()[2], questions()[3]},
       {}},
      {"v6.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log( \"loss\", loss );", "flor::log(\"relative\", loss / sum);"},
        in_epoch("flor::log( \"mean\", sum / 6 );", "net.weights", "net.velocity", "rate"),
        {"distance += ( weight - target ) * ( weight - target );",
         "flor::log(\"so_far\", distance);"}},
       {}},
      {"v5.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log(\"loss\", loss);", "flor::log(\"relative\", loss / sum);"},
        in_epoch(mean, "net.weights", "net.velocity", "rate"),
        {"distance += (weight - target) * (weight - target);", "flor::log(\"so_far\", distance);"}},
       {}},
      {"v4.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log(\"loss\", loss);", "flor::log(\"relative\", loss / sum);"},
        in_epoch(mean, "model.weights", "model.velocity", "rate")},
       {"so_far"}},
      {"v3.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log(\"loss\", loss);", "flor::log(\"relative\", loss / sum);"}},
       {"so_far", "first", "speed"}},
      {"v2.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log(\"loss\", loss);", "flor::log(\"relative\", loss / sum);"}},
       {"so_far", "first", "speed"}},
      {"v1.cpp",
       {{"#include <vector>", "#include <cmath>"},
        {"flor::log(\"loss\", err);", "flor::log(\"relative\", err / total);"}},
       {"so_far", "first", "speed"}},
  };
  return all;
}

}  // namespace flor::testing
