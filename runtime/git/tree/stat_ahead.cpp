#include "git/tree/stat_ahead.h"

#include "base/signals_blocked.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

namespace flor::git {
namespace {

constexpr std::size_t kWorthAThread = 1000;

}  // namespace

StatAhead::StatAhead(const std::filesystem::path& root, const std::vector<TrackedEntry>& entries)
    : entries_(entries) {
  if (entries.size() < kWorthAThread || std::thread::hardware_concurrency() < 2) return;
  const int directory = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  stats_.resize(entries.size());
  done_ = std::make_unique<std::atomic<bool>[]>(entries.size());
  const store::SignalsBlocked inherited_by_the_thread;
  try {
    thread_ = std::thread([this, directory] { run(directory); });
  } catch (const std::system_error&) {  // no thread available: the walk does without
    ::close(directory);
  }
}

StatAhead::~StatAhead() {
  front_ = entries_.size();
  if (thread_.joinable()) thread_.join();
}

void StatAhead::run(int root) {
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (i <= front_.load(std::memory_order_relaxed)) break;
    struct stat status{};
    if (::fstatat(root, entries_[i].path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    stats_[i] = FileStat::of(status);
    done_[i].store(true, std::memory_order_release);
  }
  ::close(root);
}

std::optional<FileStat> StatAhead::seen(std::size_t at) {
  front_.store(at, std::memory_order_relaxed);
  if (!done_ || !done_[at].load(std::memory_order_acquire)) return std::nullopt;
  return stats_[at];
}

}  // namespace flor::git
