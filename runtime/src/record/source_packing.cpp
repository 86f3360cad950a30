#include "record/source_packing.h"

#include "base/background_priority.h"
#include "base/notice.h"
#include "git/shadow.h"

#include <fmt/format.h>

#include <exception>
#include <stop_token>
#include <utility>

namespace flor::detail {

namespace {

void pack(const std::filesystem::path& root, const std::stop_token& stop) {
  // A priority group of its own, so that hurrying the recorder's threads does not affect this one.
  store::BackgroundPriority priority;
  const store::BackgroundPriority::Member member(priority, "flor-git");
  try {
    auto repository = git::Repository::discover(root);
    if (!repository) return;
    const std::size_t packed =
        repository->pack_branch(git::kShadowBranch, [&] { return !stop.stop_requested(); });
    if (packed > 0) {
      say(Level::info, fmt::format("{} objects of {} were packed", packed, git::kShadowBranch));
    }
  } catch (const std::exception& error) {
    say(Level::info, fmt::format("{} was not packed: {}", git::kShadowBranch, error.what()));
  }
}

}  // namespace

SourcePacking::SourcePacking(std::filesystem::path work_tree) {
  git::keep_ready();
  thread_ = std::jthread(
      [root = std::move(work_tree)](const std::stop_token& stop) { pack(root, stop); });
}

}  // namespace flor::detail
