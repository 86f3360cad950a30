#include "watch/evaluators/evaluator.h"

#include "output/json.h"
#include "output/terminal_text.h"
#include "process/child.h"
#include "watch/evaluators/run_as_text.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForms =
    "file.py:function, package.module.function, lib.so:symbol or a program such as './evaluate {}'";

/// Deepest nesting of a result that is accepted.
constexpr std::size_t kDeepest = 100;

bool is_library(std::string_view name) {
  return name.ends_with(".so") || name.find(".so.") != name.npos;
}

fs::path require_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw NotFound(
        fmt::format("there is no evaluator {}: name a file that exists", printable(path.string())));
  }
  return fs::absolute(path).lexically_normal();
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c >= 0x80;
  });
}

/// Parses "file.py:function" or "lib.so:symbol"; nullopt for another form.
std::optional<EvaluatorSpec> parse_function(std::string_view spec) {
  const std::size_t colon = spec.rfind(':');
  if (colon == spec.npos) return std::nullopt;
  const std::string_view file = spec.substr(0, colon), name = spec.substr(colon + 1);
  const bool python = file.ends_with(".py");
  if (!python && !is_library(file)) return std::nullopt;
  if (!is_identifier(name)) {
    throw UsageError(fmt::format("'{}' names no function in {}: an evaluator is {}",
                                 printable(name), printable(file), kForms));
  }
  return EvaluatorSpec{.kind = python ? EvaluatorSpec::Kind::python : EvaluatorSpec::Kind::native,
                       .file = require_file(file),
                       .function = std::string(name),
                       .words = {}};
}

EvaluatorSpec parse_program(std::string_view spec) {
  EvaluatorSpec result{.words = split_words(spec)};
  if (result.words.empty()) {
    throw UsageError(fmt::format("an evaluator is {}", kForms));
  }
  std::string& program = result.words.front();
  if (program.ends_with(".py") || is_library(program)) {
    throw UsageError(fmt::format("{} has no function behind it: an evaluator is {}",
                                 printable(program), kForms));
  }
  const bool on_path = program.find('/') == program.npos;
  const auto found = on_path ? find_on_path(program) : std::optional(program);
  if (!found) throw NotFound(fmt::format("there is no program {} on PATH", printable(program)));
  result.file = require_file(*found);
  if (::access(result.file.c_str(), X_OK) != 0) {
    throw UsageError(fmt::format("{} cannot be executed: make it executable (chmod +x)",
                                 printable(result.file.string())));
  }
  program = result.file.string();
  const auto is_place = [](const std::string& word) { return word.find("{}") != word.npos; };
  if (std::ranges::none_of(result.words, is_place)) result.words.emplace_back("{}");
  refuse_run_as_text(result.words);
  return result;
}

/// Whether the text is two or more identifiers with dots between them.
bool is_dotted_name(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == text.npos) return false;
  const std::string_view head = text.substr(0, dot);
  return is_identifier(text.substr(dot + 1)) && (is_identifier(head) || is_dotted_name(head));
}

/// The file of a Python module, found by Python itself from the current directory. To find it,
/// Python imports the packages that contain it.
fs::path find_module(const std::string& module) {
  constexpr const char* kFind =
      "import importlib.util, os, sys\n"
      "sys.path.insert(0, os.getcwd())\n"
      "found = importlib.util.find_spec(sys.argv[1])\n"
      "print(found.origin if found and found.has_location else '')\n";
  const ChildResult found = run_child({"python3", "-c", kFind, module}, {});
  const std::size_t end = found.output.find_last_not_of('\n');
  const std::size_t begin = found.output.rfind('\n', end);
  std::string path = found.output.substr(0, end == std::string::npos ? 0 : end + 1);
  if (begin != std::string::npos && begin < path.size()) path.erase(0, begin + 1);
  if (found.status != 0 || path.empty()) {
    throw NotFound(fmt::format("Python finds no module {} here: an evaluator is {}",
                               printable(module), kForms));
  }
  return require_file(path);
}

/// Parses "package.module.function"; nullopt for another form.
std::optional<EvaluatorSpec> parse_module(std::string_view spec) {
  if (!is_dotted_name(spec) || spec.ends_with(".py") || is_library(spec)) return std::nullopt;
  if (find_on_path(std::string(spec))) return std::nullopt;  // the name of a program, such as
                                                             // python3.11
  const std::size_t dot = spec.rfind('.');
  const std::string module(spec.substr(0, dot));
  return EvaluatorSpec{.kind = EvaluatorSpec::Kind::python,
                       .file = find_module(module),
                       .function = std::string(spec.substr(dot + 1)),
                       .module = module,
                       .words = {}};
}

/// The text with NaN and infinities in quotes, since JSON has no such numbers.
std::string with_quoted_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNumbers{"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto* number = std::ranges::find_if(
        kNumbers, [&](std::string_view name) { return !quoted && rest.starts_with(name); });
    if (number != kNumbers.end()) {
      result += fmt::format("\"{}\"", *number);
      at += number->size();
      continue;
    }
    if (rest[0] == '"') quoted = !quoted;
    const std::size_t count = quoted && rest[0] == '\\' && rest.size() > 1 ? 2 : 1;
    result += rest.substr(0, count);
    at += count;
  }
  return result;
}

/// The deepest nesting of brackets: reading and writing JSON recurses once for each level.
std::size_t depth(std::string_view text) {
  std::size_t open = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++at;
    if (quoted) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++open);
    if ((c == '}' || c == ']') && open > 0) --open;
  }
  return deepest;
}

}  // namespace

std::string EvaluatorSpec::text() const {
  if (!module.empty()) return module + "." + function;
  if (kind != Kind::program) return file.string() + ":" + function;
  return fmt::format("{}", fmt::join(words, " "));
}

std::string EvaluatorSpec::digest() const {
  std::string all = store::file_digest(file) + '\0' + function + '\0' +
                    fmt::format("{}", fmt::join(words, std::string_view("\0", 1)));
  if (!form.empty()) all += '\0' + form;
  return store::digest_of(std::as_bytes(std::span(all))).hex();
}

EvaluatorSpec parse_evaluator(std::string_view spec) {
  if (const auto function = parse_function(spec)) return *function;
  if (const auto function = parse_module(spec)) return *function;
  return parse_program(spec);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      *word += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      *word += c;
    }
  }
  if (quote != 0) {
    throw UsageError(fmt::format("a quote is not closed in '{}'", printable(text)));
  }
  if (word) words.push_back(*word);
  return words;
}

std::string result_json(std::string_view text) {
  if (depth(text) > kDeepest) {
    throw Error(fmt::format("the result is nested deeper than {} levels", kDeepest));
  }
  const Json value = Json::parse(with_quoted_numbers(text), nullptr, false);
  const bool is_odd_number = value.is_string() && !text.empty() && text.find('"') == text.npos;
  if (value.is_number() || is_odd_number) return compact(Json{{"value", value}});
  if (value.is_object()) return compact(value);
  throw Error(fmt::format("the result is no JSON object: {}", printable(text.substr(0, 80))));
}

std::string result_of_output(const std::string& output) {
  try {
    return result_json(output);
  } catch (const Error&) {
    const std::size_t end = output.find_last_not_of(" \t\r\n");
    if (end == output.npos) throw Error("the program wrote no result: it has to print JSON");
    const std::size_t line = output.find_last_of('\n', end);
    const std::size_t begin = line == output.npos ? 0 : line + 1;
    return result_json(std::string_view(output).substr(begin, end + 1 - begin));
  }
}

}  // namespace flor::cli
