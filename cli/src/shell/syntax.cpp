// Declares operands and options to CLI11 and keeps their help.
#include "shell/command.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

using Takes = Syntax::Entry::Takes;

/// Option names for the help: "-n,--limit" becomes "-n, --limit".
std::string spaced(const std::string& names) {
  std::string result;
  for (const char c : names) {
    result += c;
    if (c == ',') result += ' ';
  }
  // Indents an option without a letter, so that the long names are aligned.
  return names.starts_with("--") ? "    " + result : result;
}

}  // namespace

void Syntax::operand(std::string name, std::string& target, std::string help, bool required) {
  app_.add_option(name, target);
  operands_ += required ? " " + name : " [" + name + "]";
  entries_.push_back(
      {.left = std::move(name), .help = std::move(help), .operand = true, .required = required});
}

void Syntax::operands(std::string name, std::vector<std::string>& target, std::string help) {
  std::string one_word = name;  // one word, as newer versions of CLI11 require
  std::ranges::replace(one_word, ' ', '_');
  app_.add_option(one_word, target);
  operands_ += " " + name + "...";
  entries_.push_back(
      {.left = std::move(name), .help = std::move(help), .operand = true, .many = true});
}

void Syntax::rest(std::string name, std::vector<std::string>& target, std::string help) {
  rest_ = &target;
  operands_ += " [-- " + name + "...]";
  entries_.push_back(
      {.left = std::move(name), .help = std::move(help), .operand = true, .after_dashes = true});
}

void Syntax::flag(std::string names, bool& target, std::string help) {
  app_.add_flag(names, target)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  entries_.push_back({spaced(names), std::move(help)});
}

void Syntax::option(std::string names, std::string value, std::string& target, std::string help) {
  app_.add_option(names, target)->type_name(value);
  entries_.push_back(
      {.left = spaced(names) + " " + value, .help = std::move(help), .takes = Takes::value});
}

void Syntax::option(std::string names, std::string value, std::vector<std::string>& target,
                    std::string help) {
  // Takes one value each time the option is given, because an operand may follow.
  app_.add_option(names, target)->type_name(value)->allow_extra_args(false);
  entries_.push_back(
      {.left = spaced(names) + " " + value, .help = std::move(help), .takes = Takes::values});
}

void Syntax::option(std::string names, std::string value, std::optional<std::uint64_t>& target,
                    std::string help, std::uint64_t least) {
  app_.add_option(names, target)->type_name(value);
  entries_.push_back({.left = spaced(names) + " " + value,
                      .help = std::move(help),
                      .takes = Takes::count,
                      .least = least});
}

void Syntax::other_name(std::string name, std::string instead) {
  other_names_.emplace(std::move(name), std::move(instead));
}

std::string Syntax::usage() const { return "[OPTIONS]" + operands_; }

}  // namespace flor::cli
