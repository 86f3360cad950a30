// Runs in groups, whose values are put together: --group-by and --over.
#pragma once

#include <flor/store/catalog.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

class Syntax;

/// Groups as the user asks for them.
struct GroupWish {
  std::vector<std::string> by = {};    ///< runs that agree in these are a group
  std::vector<std::string> over = {};  ///< runs that differ in nothing but these are one

  bool any() const { return !by.empty() || !over.empty(); }
  /// Adds the two options to a command.
  void declare(Syntax& syntax);
};

/// A fact that the runs of a group share: an argument, or `experiment`, `tag`, `commit`,
/// `status`.
struct GroupKey {
  std::string name;
  std::optional<std::string> value = {};  ///< absent where its runs have none
  std::string type = "text";              ///< as of an argument

  /// As it is shown: a commit by its first digits, "-" for none, and '' for an empty text.
  std::string shown() const;
};

struct RunGroup {
  std::vector<GroupKey> keys;  ///< the same names in all groups; none where all runs are one group
  std::vector<store::Run> runs;

  /// "lr=0.1 width=64 (5 runs)", printable.
  std::string label() const;
};

/// The runs in groups, ordered by their keys, numbers before texts. A run with several tags is in
/// the group of each. Throws UsageError for a wish that is none, NotFound for a name that is
/// neither an argument of one of the runs nor one of the words above.
std::vector<RunGroup> group_runs(const store::Catalog& catalog, std::span<const store::Run> runs,
                                 const GroupWish& wish);

/// A remark where `over` makes groups of single runs alone, with what else differs; else empty.
std::string lone_runs(std::span<const RunGroup> groups, const GroupWish& wish);

}  // namespace flor::cli
