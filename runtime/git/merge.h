// Three-way merges and differences of texts.
#pragma once

#include <string>
#include <string_view>

namespace flor::git {

struct MergedText {
  bool clean = false;
  std::string text;  ///< with conflict markers unless clean
};

/// Applies the changes from `base` to `theirs` to `ours`, line by line, as `git merge-file` does.
/// The labels are printed at conflict markers. Needs no repository.
MergedText merge_texts(std::string_view base, std::string_view ours, std::string_view theirs,
                       const std::string& ours_label, const std::string& theirs_label);

/// A unified diff between two versions of the file `path`; empty if they are equal.
std::string diff_texts(const std::string& path, std::string_view before, std::string_view after);

}  // namespace flor::git
