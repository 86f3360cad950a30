#include "git/merge.h"

#include "git/library.h"

namespace flor::git {
namespace {

struct MergeResult {
  git_merge_file_result value{};
  MergeResult() = default;
  MergeResult(const MergeResult&) = delete;
  MergeResult& operator=(const MergeResult&) = delete;
  ~MergeResult() { git_merge_file_result_free(&value); }
};

git_merge_file_input input(std::string_view text) {
  git_merge_file_input in = GIT_MERGE_FILE_INPUT_INIT;
  in.ptr = text.data();
  in.size = text.size();
  return in;
}

}  // namespace

MergedText merge_texts(std::string_view base, std::string_view ours, std::string_view theirs,
                       const std::string& ours_label, const std::string& theirs_label) {
  const Library library;
  const git_merge_file_input base_in = input(base), ours_in = input(ours),
                             theirs_in = input(theirs);
  git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
  options.our_label = ours_label.c_str();
  options.their_label = theirs_label.c_str();
  MergeResult result;
  check(git_merge_file(&result.value, &base_in, &ours_in, &theirs_in, &options),
        "cannot merge the texts");
  MergedText merged;
  merged.clean = result.value.automergeable != 0;
  if (result.value.ptr) merged.text.assign(result.value.ptr, result.value.len);
  return merged;
}

std::string diff_texts(const std::string& path, std::string_view before, std::string_view after) {
  if (before == after) return {};
  const Library library;
  git_patch* raw = nullptr;
  check(git_patch_from_buffers(&raw, before.data(), before.size(), path.c_str(), after.data(),
                               after.size(), path.c_str(), nullptr),
        "cannot compare the texts");
  const PatchHandle patch(raw);
  Buffer text;
  check(git_patch_to_buf(text.get(), raw), "cannot write the difference");
  return std::string(text.view());
}

}  // namespace flor::git
