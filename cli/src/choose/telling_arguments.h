// Finds the arguments by which runs that are shown together can be told apart.
#pragma once

#include <flor/store/catalog.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// Gathers the arguments of runs one by one. An argument tells runs apart if two of them have
/// different values of it, or if only some runs of an experiment have it.
class TellingArguments {
 public:
  struct Argument {
    std::string name;
    bool is_text = false;    ///< whether its value is a text in some run
    std::size_t widest = 0;  ///< width of its longest value, in columns of a terminal
    bool tells = false;
  };

  void add(std::string_view experiment, std::span<const store::Argument> arguments);

  /// All arguments, the most telling first: those in which the most pairs of runs differ. Seeds,
  /// and texts and whole numbers that are different in every run, come after the others, because
  /// they name a run rather than configure it. Arguments that do not tell runs apart come last, in
  /// the order in which they were added.
  std::vector<Argument> ranked() const;
  /// The part of `ranked` that tells runs apart.
  std::vector<Argument> telling() const;

 private:
  /// Counts for one argument. The size of `values` is limited: any further value counts as seen
  /// once.
  struct Seen {
    std::string name;
    bool is_text = false, is_real = false;
    std::size_t widest = 0;
    std::unordered_map<std::string, std::uint64_t> values;
    std::uint64_t runs = 0, others = 0;
    std::map<std::string, std::uint64_t, std::less<>> having;  // number of runs that have it, by
                                                               // experiment

    bool is_name() const;
  };
  double pairs(const Seen& seen) const;

  std::vector<Seen> seen_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::uint64_t, std::less<>> runs_;  // number of runs, by experiment
};

/// The name by which a column of `flor list` means the argument: the argument's own, or
/// "arg:epochs" if a built-in column has that name.
std::string argument_title(std::string_view name);

}  // namespace flor::cli
