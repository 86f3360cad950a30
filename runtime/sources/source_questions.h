// Finds the values that new log statements may read, and whether a loop may have left them changed:
// followed backwards through assignments, calls, aliases and conditions. A value counts unless it
// is shown to be harmless.
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

/// The variables that the runtime restores, and aliases of them.
class KeptState {
 public:
  explicit KeptState(const Effects& effects);
  bool holds(int variable) const { return kept_.contains(variable); }

 private:
  bool all_kept(const Keys& keys) const;
  bool add_aliases(const Effects& effects);

  std::set<int> kept_;
  std::map<std::pair<int, int>, std::vector<Keys>> given_;  ///< to parameters of bodies
};

/// All that a changed statement may depend on.
struct Slice {
  const Change* change = nullptr;
  std::string question;  ///< the logged name, or the text of the change
  Keys reads;
  bool understood = false;  ///< it is part of a function
};

class Questions {
 public:
  /// The sources of one program, and the changes; they must outlive this.
  /// `main`: where the recorded main loops are.
  Questions(const std::vector<const Source*>& sources, const std::vector<Change>& changes,
            std::vector<std::pair<const Source*, Range>> main,
            std::size_t work_max = Effects::kWorkMax);

  /// False if the sources are too many: then every loop may leave values that any change reads.
  bool complete() const { return complete_; }
  struct Read {
    const Change* change = nullptr;
    std::string question, variable;
    bool outside = false;  ///< what libraries keep
  };
  /// A value that the loop changes, that is not kept, and that changed code outside of it may read.
  std::optional<Read> of_nested(const Source& source, Range loop) const;
  /// The same for values that outlive the iterations of a main loop; code in the loop counts, too.
  std::optional<Read> of_main(const Source& source, Range loop) const;
  /// A `return` or `goto` in the loop may leave the function that holds it.
  bool leaves_function(const Source& source, Range loop) const;
  /// A read of a question that the sources do not show, or nothing.
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
  /// A caller of a body: body and step, and the call.
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
  std::map<int, std::vector<Writer>> writers_;  ///< of the variable itself
  std::vector<Slice> slices_;
  std::vector<std::pair<const Source*, Range>> main_;
  std::vector<bool> early_;  ///< bodies that are called only before the main loops begin
  /// The step is executed only before the main loops begin.
  bool is_early(int body, int step) const;
  bool complete_ = true;
};

}  // namespace flor::sources
