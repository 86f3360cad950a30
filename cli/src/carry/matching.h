// Finds the counterparts of a block and of a name in an older version: functions and loops by their
// names, everything else by the statements around it.
#pragma once

#include "carry/alignment.h"
#include "carry/tree.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::carry {

struct BlockMatch {
  const Block* block = nullptr;      ///< null: there is none, see `reason`
  std::size_t file = 0;              ///< index among the older files
  std::vector<std::string> remarks;  ///< for the user: things that moved or have another name
  std::string reason;
};

/// The name that a name of the newer version has in the older version.
struct NameMatch {
  enum class Kind {
    same,
    renamed,
    missing,    ///< the older version has nothing of that name
    ambiguous,  ///< see `reason`
  } kind = Kind::same;
  std::string name;
  std::string reason;
};

class Matching {
 public:
  /// `newer` and `older` must outlive this object. `ignored`: for each newer file, the ranges of
  /// tokens to ignore.
  Matching(const std::vector<Tree>& newer, const std::vector<Tree>& older,
           std::vector<std::vector<Range>> ignored);

  BlockMatch find(std::size_t file, const Block& block);
  /// The counterpart of `name`, which `function` of the newer file uses; `there` is the counterpart
  /// of `function` in the older file.
  NameMatch name(std::size_t file, const Statement& function, std::string_view name,
                 std::size_t file_there, const Statement& there) const;
  /// Whether this name occurs in a newer file outside of the ignored ranges.
  bool knows(std::string_view name) const { return words_.contains(name); }
  /// Names in `function` that are known to have another name in the older version.
  KnownNames names_in(const Statement& function) const;

 private:
  using Votes = std::map<std::string_view, std::map<std::string_view, int>>;
  struct Evidence {
    Votes votes;
    /// Names that both versions declare at the same place: from the newer name to the older.
    std::map<std::string_view, std::string_view> declared;
  };
  struct FunctionMatch {
    const Statement* function = nullptr;
    std::size_t file = 0;
    std::vector<std::string> remarks;
    std::string reason;
  };

  bool is_ignored(std::size_t file, std::size_t token) const;
  std::set<std::string_view> words_of(std::size_t file, Range range) const;
  FunctionMatch find_function(std::size_t file, const Statement& function);
  FunctionMatch renamed_function(std::size_t file, const Statement& function);
  std::optional<BlockMatch> find_loop(std::size_t file, const Block& block);
  BlockMatch find_uncached(std::size_t file, const Block& block);
  BlockMatch find_inside(std::size_t file, const Block& block);
  void gather();
  void gather_blocks(std::size_t file, const Block& a, std::size_t file_there, const Block& b);
  void gather_heads(std::size_t file, const Statement& a, std::size_t file_there,
                    const Statement& b, const Comparison& comparison);
  std::optional<std::string_view> renamed(const Evidence& evidence, std::string_view name) const;
  Comparison comparison(std::size_t file, const Statement* function, std::size_t there) const;

  const std::vector<Tree>& newer_;
  const std::vector<Tree>& older_;
  std::vector<std::vector<Range>> ignored_;
  std::set<std::string_view> words_, words_there_;
  std::map<const Statement*, Evidence> evidence_;
  Evidence everywhere_;
  std::map<const Statement*, KnownNames> names_;
  std::map<const Block*, BlockMatch> found_;
  std::set<const Block*> gathered_;
};

}  // namespace flor::carry
