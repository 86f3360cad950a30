// Carries log statements of the work tree into older versions of the sources. Works on texts alone.
//
// A hunk goes where a three-way merge and the structure of the older version agree, or, where the
// merge conflicts, where the structure leaves no choice: the same function or flor::loop by its
// name, between the statements that are its neighbours. Variables that have another name there are
// renamed if every place where they occur agrees on it. Where there is a choice left, the hunk is
// refused and the reason named. Nothing but hunks is added, and nothing is taken away: this is
// checked token by token before a text is handed out.
#pragma once

#include "carry/additions.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flor::carry {

/// A hunk in an older version.
struct Placed {
  int hunk = 0;
  std::string path;        ///< of the older version
  std::uint32_t line = 0;  ///< in the patched text
  bool merged = false;     ///< the three-way merge was clean, and agrees
  /// Where it was put, for the user: `after 'optimizer.step();' in loop "train"`.
  std::string where;
  std::vector<std::string> remarks;            ///< things that moved, or have another name
  std::map<std::string, std::string> renamed;  ///< names of the hunk, and their names there
  std::vector<std::string> missing;  ///< names that nothing has there: it will hardly compile
  bool present = false;  ///< the version already has these very statements: nothing was added
};

struct Refused {
  int hunk = 0;
  std::string reason;
  std::string conflict;  ///< lines that the three-way merge could not decide; empty: it was clean
};

/// An addition to a text, as bytes of the patched text.
struct Inserted {
  std::string path;
  std::size_t begin = 0, end = 0;
};

struct Carried {
  std::vector<FileText> files;     ///< those that changed
  std::vector<Inserted> inserted;  ///< without these, `files` are unchanged; by path and place
  std::vector<Placed> placed;
  std::vector<Refused> refused;
};

class Carrier {
 public:
  /// `base`: files of the newest version, `work`: files of the work tree. Files that are equal in
  /// both may be left out.
  Carrier(const std::vector<FileText>& base, const std::vector<FileText>& work);
  ~Carrier();
  Carrier(Carrier&&) noexcept;

  const std::vector<Addition>& hunks() const { return additions_.hunks; }
  const std::vector<OtherEdit>& others() const { return additions_.others; }

  /// `older`: all sources of the older version; a loop may have stood in another file. `chosen`:
  /// numbers of hunks; empty: all. Hunks that share variables are carried together.
  Carried carry(const std::vector<FileText>& older, const std::set<int>& chosen = {}) const;

 private:
  Additions additions_;
};

}  // namespace flor::carry
