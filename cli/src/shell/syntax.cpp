// Declares operands and options to CLI11 and keeps their help.
#include "output/terminal_text.h"
#include "shell/command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace flor::cli {
namespace {

/// "-n,--limit" as people read it: "-n, --limit".
std::string spaced(const std::string& names) {
  std::string result;
  for (const char c : names) {
    result += c;
    if (c == ',') result += ' ';
  }
  // Long names stand below each other.
  return names.starts_with("--") ? "    " + result : result;
}

}  // namespace

void Syntax::operand(std::string name, std::string& target, std::string help, bool required) {
  CLI::Option* option = app_.add_option(name, target);
  if (required) option->required();
  operands_ += required ? " " + name : " [" + name + "]";
  entries_.push_back({std::move(name), std::move(help), true});
}

void Syntax::operands(std::string name, std::vector<std::string>& target, std::string help) {
  std::string one_word = name;  // as newer CLI11 wants it
  std::ranges::replace(one_word, ' ', '_');
  app_.add_option(one_word, target);
  operands_ += " " + name + "...";
  entries_.push_back({std::move(name), std::move(help), true});
}

void Syntax::rest(std::string name, std::vector<std::string>& target, std::string help) {
  rest_ = &target;
  operands_ += " [-- " + name + "...]";
  entries_.push_back({std::move(name), std::move(help), true});
}

void Syntax::flag(std::string names, bool& target, std::string help) {
  app_.add_flag(names, target);
  entries_.push_back({spaced(names), std::move(help)});
}

void Syntax::option(std::string names, std::string value, std::string& target, std::string help) {
  app_.add_option(names, target)->type_name(value);
  entries_.push_back({spaced(names) + " " + value, std::move(help)});
}

void Syntax::option(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  // One value for each time it is given: an operand may follow.
  app_.add_option(names, target)->type_name(value)->allow_extra_args(false);
  entries_.push_back({spaced(names) + " " + value, std::move(help)});
}

void Syntax::option(std::string names, std::string value, std::optional<std::uint64_t>& target,
                    std::string help, std::uint64_t least) {
  // Before CLI11 converts it: a negative number would become a great one.
  const auto is_count = [least](const std::string& text) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool good = error == std::errc() && end == text.data() + text.size() && count >= least;
    return good ? std::string()
                : fmt::format("{} is not a whole number from {} on", printable(text), least);
  };
  app_.add_option(names, target)->type_name(value)->check(is_count);
  entries_.push_back({spaced(names) + " " + value, std::move(help)});
}

void Syntax::other_name(std::string name, std::string instead) {
  other_names_.emplace(std::move(name), std::move(instead));
}

std::vector<std::string> Syntax::option_names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.operand) continue;
    std::istringstream words(entry.left);
    for (std::string word; words >> word && word.starts_with('-');) {
      if (word.ends_with(',')) word.pop_back();
      names.push_back(std::move(word));
    }
  }
  return names;
}

std::string Syntax::usage() const { return "[OPTIONS]" + operands_; }

}  // namespace flor::cli
