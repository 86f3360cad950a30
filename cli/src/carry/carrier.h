// Carries log statements of the work tree into older versions of the sources, working on texts
// alone.
//
// A hunk (LogHunk) is placed where a three-way merge and the structure of the older version agree.
// Where the merge conflicts, it is placed if the structure leaves no choice: the function or
// flor::loop of the same name, between the same neighbouring statements. Variables that have
// another name in the older version are renamed if all their occurrences agree on that name. Where
// a choice remains, the hunk is refused with a reason. Before a text is returned, it is checked
// token by token that only hunks were added and nothing was removed.
#pragma once

#include "carry/additions.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flor::carry {

/// A hunk that has a place in an older version.
struct Placed {
  int hunk = 0;
  std::string path;        ///< path of the file in the older version
  std::uint32_t line = 0;  ///< line in the patched text
  bool merged = false;     ///< whether a three-way merge without conflict gives the same place
  /// The place, for the user: `after 'optimizer.step();' in loop "train"`.
  std::string where;
  std::vector<std::string> remarks;            ///< for the user: things that moved or have another
                                               ///< name
  std::map<std::string, std::string> renamed;  ///< the hunk's names, and the older version's
  std::vector<std::string> missing;  ///< names that the older version does not have: it will hardly
                                     ///< compile
  bool present = false;  ///< whether the version already has these statements, so that nothing was
                         ///< added
};

struct Refused {
  int hunk = 0;
  std::string reason;
  std::string conflict;  ///< lines on which the three-way merge conflicted; empty: no conflict
};

/// The byte range of an addition in the patched text.
struct Inserted {
  std::string path;
  std::size_t begin = 0, end = 0;
};

struct Carried {
  std::vector<FileText> files;     ///< the files that changed
  std::vector<Inserted> inserted;  ///< ordered by path and place; without these bytes, `files` are
                                   ///< the originals
  std::vector<Placed> placed;
  std::vector<Refused> refused;
};

class Carrier {
 public:
  /// `base`: files of the newest version; `work`: files of the work tree. Files that are equal in
  /// both may be left out.
  Carrier(const std::vector<FileText>& base, const std::vector<FileText>& work);
  ~Carrier();
  Carrier(Carrier&&) noexcept;

  const std::vector<Addition>& hunks() const { return additions_.hunks; }
  const std::vector<OtherEdit>& others() const { return additions_.others; }

  /// Carries hunks into the version whose sources are `older`; pass all of them, since a loop may
  /// have been in another file. `chosen`: numbers of hunks; empty: all. Hunks that share variables
  /// are carried together.
  Carried carry(const std::vector<FileText>& older, const std::set<int>& chosen = {}) const;

 private:
  Additions additions_;
};

}  // namespace flor::carry
