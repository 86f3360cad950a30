// What a subcommand is. The parser (CLI11) stays behind Syntax, in one translation unit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace flor::cli {

class Context;

/// The operands and options that a command takes. Each call declares one and names the variable
/// that receives it; the variables must outlive the parsing.
class Syntax {
 public:
  explicit Syntax(CLI::App& app) : app_(app) {}

  /// NAME or [NAME], by its place.
  void operand(std::string name, std::string& target, std::string help, bool required);
  /// NAME..., any number of them.
  void operands(std::string name, std::vector<std::string>& target, std::string help);
  /// -- NAME...: all words after "--", which is never one of the other operands.
  void rest(std::string name, std::vector<std::string>& target, std::string help);
  /// What receives them; null if the command takes none.
  std::vector<std::string>* rest_target() const { return rest_; }
  /// `names` as "-n,--limit".
  void flag(std::string names, bool& target, std::string help);
  void option(std::string names, std::string value, std::string& target, std::string help);
  /// May be given several times.
  void option(std::string names, std::string value, std::vector<std::string>& target,
              std::string help);
  /// A count of `least` or more.
  void option(std::string names, std::string value, std::optional<std::uint64_t>& target,
              std::string help, std::uint64_t least = 0);

  /// An option of another tool, or of an earlier time, and what to say instead of it.
  void other_name(std::string name, std::string instead);
  const std::map<std::string, std::string>& other_names() const { return other_names_; }
  /// Without values: "-n", "--limit".
  std::vector<std::string> option_names() const;

  struct Entry {
    std::string left;  ///< "-n, --limit N"
    std::string help;
    bool operand = false;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// "[OPTIONS] METRIC..."
  std::string usage() const;

 private:
  CLI::App& app_;
  std::vector<Entry> entries_;
  std::string operands_;
  std::vector<std::string>* rest_ = nullptr;
  std::map<std::string, std::string> other_names_;
};

/// A subcommand: declared once, run at most once.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  /// A few words for the list of commands.
  virtual std::string_view summary() const = 0;
  /// What it does and examples of it, printed under the options by --help.
  virtual std::string_view lesson() const = 0;
  virtual void setup(Syntax& syntax) = 0;
  /// Results go to context.out(). Throws flor::Error; returns the exit status otherwise.
  virtual int run(Context& context) = 0;
};

}  // namespace flor::cli
