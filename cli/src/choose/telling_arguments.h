// The arguments by which runs that are shown together can be told apart.
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

/// Gathers the arguments of runs one by one. An argument tells runs apart where two of them have
/// different values of it, or where only some runs of an experiment have it.
class TellingArguments {
 public:
  struct Argument {
    std::string name;
    bool is_text = false;    ///< in some run
    std::size_t widest = 0;  ///< columns that its longest value takes
    bool tells = false;
  };

  void add(std::string_view experiment, std::span<const store::Argument> arguments);

  /// All arguments, the most telling first: the one by which the most pairs of runs differ. Those
  /// that rather name or repeat a run come after those that set something up: seeds, and texts and
  /// whole numbers that are another one in every run. Those that tell nothing come last, in the
  /// order in which they were met.
  std::vector<Argument> ranked() const;
  /// Only those that tell runs apart.
  std::vector<Argument> telling() const;

 private:
  /// Counts for one argument. `values` is bounded: further ones count as seen once.
  struct Seen {
    std::string name;
    bool is_text = false, is_real = false;
    std::size_t widest = 0;
    std::unordered_map<std::string, std::uint64_t> values;
    std::uint64_t runs = 0, others = 0;
    std::map<std::string, std::uint64_t, std::less<>> having;  // runs by experiment

    bool is_name() const;
  };
  double pairs(const Seen& seen) const;

  std::vector<Seen> seen_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::uint64_t, std::less<>> runs_;  // by experiment
};

/// A name by which a column of `flor list` means the argument alone: its own, or "arg:epochs" where
/// a column of the run is called so.
std::string argument_title(std::string_view name);

}  // namespace flor::cli
