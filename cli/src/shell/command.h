// A subcommand: its name, help, options and work. Only syntax.cpp and app.cpp see CLI11.
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
  /// The variable that receives them; null if the command takes none.
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

  /// An option of another tool, or of an earlier time, and the words that point to the right one.
  void other_name(std::string name, std::string instead);
  const std::map<std::string, std::string>& other_names() const { return other_names_; }
  struct Entry {
    std::string left;  ///< "-n, --limit N"
    std::string help;
    bool operand = false;
    bool required = false, many = false;  ///< of operands
    bool after_dashes = false;            ///< an operand that only "--" begins
    enum class Takes : std::uint8_t { nothing, value, values, count };
    Takes takes = Takes::nothing;  ///< of options; values: may be given several times
    std::uint64_t least = 0;       ///< of a count
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
  /// Other words for the name, as other tools have them.
  virtual std::vector<std::string_view> aliases() const { return {}; }
  /// A few words for the list of commands, in the imperative.
  virtual std::string_view summary() const = 0;
  /// An explanation with examples, printed under the options by --help.
  virtual std::string_view lesson() const = 0;
  virtual void setup(Syntax& syntax) = 0;
  /// Results go to context.out(). Throws flor::Error; returns the exit status otherwise.
  virtual int run(Context& context) = 0;
};

}  // namespace flor::cli
