// Finds the values that new log statements may read, by following assignments, calls, aliases and
// conditions backwards, and tells whether a loop that is skipped may have changed them. In doubt, a
// value counts as changed.
#pragma once

#include "sources/changes.h"
#include "sources/effects/effects.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::sources {

/// The variables that a replay restores, and their aliases.
class KeptState {
 public:
  explicit KeptState(const Effects& effects);
  bool holds(int variable) const { return kept_.contains(variable); }

 private:
  bool all_kept(const Keys& keys) const;
  bool add_aliases(const Effects& effects);

  std::set<int> kept_;
  /// The arguments that calls pass, by body and index of the parameter. Index -1 stands for the
  /// object that a method is called on.
  std::map<std::pair<int, int>, std::vector<Keys>> given_;
};

/// All variables that a changed statement may depend on.
struct Slice {
  const Change* change = nullptr;
  std::string question;  ///< the logged name, or the text of the change
  Keys reads;
  bool understood = false;  ///< false: the changed statement is in no function
};

class Questions {
 public:
  /// `sources` are those of one program; they and `changes` must outlive this object. `main` says
  /// where the recorded main loops are.
  Questions(const std::vector<const Source*>& sources, const std::vector<Change>& changes,
            std::vector<std::pair<const Source*, Range>> main,
            std::size_t work_max = Effects::kWorkMax);

  /// False if the sources are too large to analyse. Then every loop may leave values that a change
  /// reads.
  bool complete() const { return complete_; }
  struct Read {
    const Change* change = nullptr;
    std::string question, variable;
    bool outside = false;  ///< state that libraries keep
  };
  /// A value that the loop changes, that is not restored, and that changed code outside the loop
  /// may read.
  std::optional<Read> of_nested(const Source& source, Range loop) const;
  /// A value that outlives an iteration of the main loop, that the loop changes, that is not
  /// restored, and that changed code inside or outside the loop may read.
  std::optional<Read> of_main(const Source& source, Range loop) const;
  /// Whether a `return` or `goto` in the loop may leave the function around it.
  bool leaves_function(const Source& source, Range loop) const;
  /// The first read of a question that the sources do not account for; nothing if there is no such
  /// read.
  std::optional<std::string> unproven() const;

 private:
  friend class Slicer;
  friend class ForgottenFinder;

  std::optional<std::pair<int, std::size_t>> body_at(const Source& source, std::size_t at) const;
  Keys changed_by(const Source& source, Range loop, bool main) const;
  void ascend(Keys& changed, std::set<int>& through) const;
  bool begins_anew(int variable, int body, Range loop) const;
  std::optional<Read> find(const Source& source, Range loop, bool main) const;

  bool is_shown(int variable) const;
  bool outlives(int variable, const Source& source, Range loop) const;

  Model model_;
  Effects effects_;
  KeptState kept_;
  /// A call of a body: the calling body and step, and the call.
  struct Caller {
    int body, step;
    const Call* call;
  };
  void find_calls_and_writes();
  void find_early();
  void slice(const Change& change);

  std::map<int, std::vector<Caller>> callers_;
  struct Writer {
    int body, step;
    Extent extent;
  };
  std::map<int, std::vector<Writer>> writers_;  ///< statements that write to the variable itself
  std::vector<Slice> slices_;
  std::vector<std::pair<const Source*, Range>> main_;
  std::vector<bool> early_;  ///< bodies that are only called before the main loops begin
  /// Whether the step is only executed before the main loops begin.
  bool is_early(int body, int step) const;
  bool complete_ = true;
};

}  // namespace flor::sources
