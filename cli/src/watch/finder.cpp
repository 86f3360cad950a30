#include "watch/finder.h"

#include <flor/store/error.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

namespace flor::cli {
namespace {

void notify(int event) {
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) < 0) return;  // the counter is raised already
}

}  // namespace

Finder::Finder(CheckpointSource& watch)
    : watch_(watch),
      news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (news_ < 0 || stop_ < 0) throw Error("no descriptors are left: raise the limit (ulimit -n)");
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Finder::~Finder() {
  thread_.request_stop();
  notify(stop_);
  thread_.join();
  ::close(news_);
  ::close(stop_);
}

Finder::News Finder::take() {
  std::uint64_t count = 0;
  if (::read(news_, &count, sizeof count) < 0) count = 0;
  const std::lock_guard lock(mutex_);
  News news = std::move(pending_);
  pending_ = {.is_idle = news.is_idle, .incomplete = news.incomplete, .failure = news.failure};
  return news;
}

void Finder::run(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      step();
      pollfd waiting[2]{{watch_.descriptor(), POLLIN, 0}, {stop_, POLLIN, 0}};
      ::poll(waiting, 2, wait_ms());
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    pending_.failure = error.what();
    notify(news_);
  }
}

void Finder::step() {
  watch_.step([this](FoundCheckpoint found) {
    const std::lock_guard lock(mutex_);
    pending_.found.push_back(std::move(found));
    notify(news_);
  });
  const std::vector<std::string> remarks = watch_.remarks();
  const bool is_idle = watch_.expected() == 0;
  const std::lock_guard lock(mutex_);
  if (!remarks.empty() || is_idle != pending_.is_idle) notify(news_);
  pending_.remarks.insert(pending_.remarks.end(), remarks.begin(), remarks.end());
  pending_.is_idle = is_idle;
  pending_.incomplete = watch_.incomplete();
}

int Finder::wait_ms() const {
  const auto due = watch_.due();
  if (due == CheckpointSource::Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(due - CheckpointSource::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace flor::cli
