#include "record/source_packing.h"

#include "base/notice.h"
#include "git/shadow.h"

#include <fmt/format.h>

#include <exception>
#include <stop_token>
#include <utility>

namespace flor::detail {

namespace {

void pack(const std::filesystem::path& root, store::BackgroundPriority& priority,
          const std::stop_token& stop) {
  const store::BackgroundPriority::Member member(priority, "flor-git");
  if (stop.stop_requested()) return;
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
  thread_ = std::jthread([this, root = std::move(work_tree)](const std::stop_token& stop) {
    pack(root, priority_, stop);
  });
}

/// On a busy machine an idle thread may have to wait for seconds before it sees that it is to stop.
SourcePacking::~SourcePacking() {
  const store::BackgroundPriority::Hurry hurry(priority_);
  thread_.request_stop();
  thread_.join();
}

}  // namespace flor::detail
