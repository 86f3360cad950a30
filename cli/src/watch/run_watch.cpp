#include "watch/run_watch.h"

#include "index/catalog/labels.h"
#include "watch/directory_watch.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;

/// Pauses between looks without a bell, the second while runs are being recorded: a process that is
/// killed between a commit and the bell does not ring it, and the end of a killed run is never
/// announced.
constexpr milliseconds kLook{10'000}, kLookAtRuns{1000};

/// The identity of a checkpoint in the store: its id takes the place of the inode.
store::FileIdentity identity_of(const store::CheckpointInfo& info) {
  return {.inode = info.id,
          .bytes = static_cast<std::int64_t>(info.raw_bytes),
          .modified_ns = info.created_us * 1000};
}

std::string place_of(const store::CheckpointScope& scope) {
  return scope.experiment.empty() ? "run " + scope.run : "experiment " + scope.experiment;
}

}  // namespace

RunWatch::RunWatch(std::shared_ptr<store::Store> store, std::vector<store::CheckpointScope> scopes,
                   milliseconds poll)
    : store_(std::move(store)),
      pause_(has_no_events(store_->home()) ? poll : kLook),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      due_(Clock::now()) {
  if (inotify_ < 0) {
    throw Error(fmt::format("no events of files: {}: raise fs.inotify.max_user_instances",
                            std::strerror(errno)));
  }
  ::inotify_add_watch(inotify_, store::checkpoint_bell(*store_).c_str(), IN_ATTRIB);
  for (store::CheckpointScope& scope : scopes) scopes_.emplace_back().what = std::move(scope);
}

RunWatch::~RunWatch() {
  if (inotify_ >= 0) ::close(inotify_);
}

std::vector<std::string> RunWatch::places() const {
  std::vector<std::string> names;
  for (const Scope& scope : scopes_) names.push_back(place_of(scope.what));
  return names;
}

std::vector<CheckpointSource::Known> RunWatch::present(std::size_t place) const {
  std::vector<Known> all;
  for (const auto& named : store::named_checkpoints(*store_, scopes_[place].what)) {
    all.emplace_back(named.reference, identity_of(named.info));
  }
  return all;
}

std::optional<store::FileIdentity> RunWatch::identify_at(const std::string& path) const {
  try {
    return identity_of(store::find_checkpoint(*store_, path).info);
  } catch (const NotFound&) {
    return std::nullopt;
  }
}

void RunWatch::know(std::size_t place, const std::string& path, const store::FileIdentity& file) {
  scopes_[place].known[path] = file;
}

void RunWatch::step(const std::function<void(FoundCheckpoint)>& hand_over) {
  char events[4096];
  while (::read(inotify_, events, sizeof events) > 0) {
  }
  // Counted before the checkpoints are listed, because a run that has ended by then commits no
  // more.
  std::size_t running = 0;
  for (const Scope& scope : scopes_) {
    running += static_cast<std::size_t>(store::running(*store_, scope.what));
  }
  if (!store_->catalog().follow()) running = std::max<std::size_t>(running, 1);
  // A run that was restored or renamed has checkpoints with ids lower than `after`.
  if (const std::int64_t mark = store::membership_mark(*store_); mark != membership_) {
    membership_ = mark;
    for (Scope& scope : scopes_) scope.after = 0;
  }
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    Scope& scope = scopes_[i];
    for (const auto& named : store::named_checkpoints(*store_, scope.what, scope.after)) {
      scope.after = std::max(scope.after, named.info.id);
      const store::FileIdentity file = identity_of(named.info);
      const auto known = scope.known.find(named.reference);
      if (known != scope.known.end() && known->second == file) continue;
      scope.known[named.reference] = file;
      hand_over({i, named.reference, file, named.info.digest});
    }
  }
  running_ = running;
  due_ = Clock::now() + (running_ > 0 ? std::min(pause_, kLookAtRuns) : pause_);
}

}  // namespace flor::cli
