// Three-way merges and differences of texts.
#pragma once

#include <string>
#include <string_view>

namespace flor::git {

struct MergedText {
  bool clean = false;
  std::string text;  ///< with conflict markers where it is not clean
};

/// Takes the changes from `base` to `theirs` into `ours`, line by line, as `git merge-file` does.
/// The labels stand at the markers of conflicts. Touches no repository.
MergedText merge_texts(std::string_view base, std::string_view ours, std::string_view theirs,
                       const std::string& ours_label, const std::string& theirs_label);

/// A unified diff of two forms of the file `path`; empty if they are equal.
std::string diff_texts(const std::string& path, std::string_view before, std::string_view after);

}  // namespace flor::git
