// Finds checkpoints in a thread of its own, because reading them to compute their digests takes
// time, during which the watch must renew its leases.
#pragma once

#include "watch/checkpoint_source.h"

#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace flor::cli {

class Finder {
 public:
  /// `watch` must not be used by another thread during the finder's lifetime.
  explicit Finder(CheckpointSource& watch);
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  /// A descriptor that is readable when `take` has news.
  int descriptor() const { return news_; }
  struct News {
    std::vector<FoundCheckpoint> found = {};
    std::vector<std::string> remarks = {};
    bool is_idle = false;  ///< everything has been examined, and nothing more is expected
    std::vector<std::string> incomplete = {};  ///< paths of incomplete checkpoints
    std::string failure = {};                  ///< why the finder has ended; empty while it runs
  };
  /// Returns the news since the last call. Never waits.
  News take();

 private:
  void run(const std::stop_token& stop);
  void step();
  int wait_ms() const;

  CheckpointSource& watch_;
  int news_ = -1, stop_ = -1;  // eventfd
  std::mutex mutex_;
  News pending_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace flor::cli
