// Groups runs so that their values can be averaged: --group-by and --over.
#pragma once

#include <flor/store/catalog.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

class Syntax;

/// The grouping that the user asks for.
struct GroupWish {
  std::vector<std::string> by = {};    ///< --group-by: runs that agree in these form a group
  std::vector<std::string> over = {};  ///< --over: runs that differ in nothing but these form a
                                       ///< group

  bool any() const { return !by.empty() || !over.empty(); }
  /// Declares the two options for a command.
  void declare(Syntax& syntax);
};

/// A fact that the runs of a group share: an argument, or `experiment`, `tag`, `commit` or
/// `status`.
struct GroupKey {
  std::string name;
  std::optional<std::string> value = {};  ///< nullopt if the runs have no such argument
  std::string type = "text";              ///< as the type of an argument

  /// The value for a table: a commit by its first digits, "-" if there is none, '' for an empty
  /// text.
  std::string shown() const;
};

struct RunGroup {
  std::vector<GroupKey> keys;  ///< the same names in all groups; empty if all runs form one group
  std::vector<store::Run> runs;

  /// "lr=0.1 width=64 (5 runs)", safe to print.
  std::string label() const;
};

/// Groups the runs and orders the groups by their keys, numbers before texts. A run with several
/// tags is in the group of each. Throws UsageError for a malformed wish, NotFound for a name that
/// is neither an argument of one of the runs nor one of the words that GroupKey lists.
std::vector<RunGroup> group_runs(const store::Catalog& catalog, std::span<const store::Run> runs,
                                 const GroupWish& wish);

/// A remark for the user if `over` makes only groups of a single run: it names what else differs.
/// Otherwise empty.
std::string lone_runs(std::span<const RunGroup> groups, const GroupWish& wish);

}  // namespace flor::cli
