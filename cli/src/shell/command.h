// A subcommand: its name, help, options and work. Only syntax.cpp and app.cpp include CLI11.
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

/// The operands and options of a command. Each function declares one and names the variable that
/// receives it; the variables must live until the command line was parsed.
class Syntax {
 public:
  explicit Syntax(CLI::App& app) : app_(app) {}

  /// Declares NAME or [NAME], an operand given by its position.
  void operand(std::string name, std::string& target, std::string help, bool required);
  /// Lets the operand that was declared last be an empty word, as no other word may be: it is mostly
  /// a variable of the shell that was never set.
  void may_be_empty() { entries_.back().may_be_empty = true; }
  /// Declares NAME..., any number of operands.
  void operands(std::string name, std::vector<std::string>& target, std::string help);
  /// Declares -- NAME...: all words after "--", which are then no other operands.
  void rest(std::string name, std::vector<std::string>& target, std::string help);
  /// The variable that receives the words after "--"; null if the command takes none.
  std::vector<std::string>* rest_target() const { return rest_; }
  /// Declares a flag; `names` as in "-n,--limit".
  void flag(std::string names, bool& target, std::string help);
  void option(std::string names, std::string value, std::string& target, std::string help);
  /// Declares an option that may be given several times.
  void option(std::string names, std::string value, std::vector<std::string>& target,
              std::string help);
  /// Declares an option with a whole number of at least `least`.
  void option(std::string names, std::string value, std::optional<std::uint64_t>& target,
              std::string help, std::uint64_t least = 0);

  /// Declares the name that another tool or an earlier version has for an option. Giving it is
  /// refused with `instead`, the words that point to the right option.
  void other_name(std::string name, std::string instead);
  const std::map<std::string, std::string>& other_names() const { return other_names_; }
  struct Entry {
    std::string left;  ///< as in the help: "-n, --limit N"
    std::string help;
    bool operand = false;
    bool required = false, many = false;  ///< operands only
    bool after_dashes = false;            ///< operands only: must follow "--"
    bool may_be_empty = false;            ///< operands only
    enum class Takes : std::uint8_t { nothing, value, values, count };
    Takes takes = Takes::nothing;  ///< options only; `values`: may be given several times
    std::uint64_t least = 0;       ///< for `count`: the least number
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// For the help: "[OPTIONS] METRIC...".
  std::string usage() const;

 private:
  CLI::App& app_;
  std::vector<Entry> entries_;
  std::string operands_;
  std::vector<std::string>* rest_ = nullptr;
  std::map<std::string, std::string> other_names_;
};

/// A subcommand. `setup` and `run` are called at most once each.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  /// Other names of the command, which users know from other tools.
  virtual std::vector<std::string_view> aliases() const { return {}; }
  /// A few words in the imperative, for the list of commands.
  virtual std::string_view summary() const = 0;
  /// An explanation with examples, which --help prints below the options.
  virtual std::string_view lesson() const = 0;
  virtual void setup(Syntax& syntax) = 0;
  /// Does the work, and returns the exit status. Results must go to context.out(). Throws
  /// flor::Error.
  virtual int run(Context& context) = 0;
};

}  // namespace flor::cli
