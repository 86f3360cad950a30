// Finds checkpoints in a thread of its own: reading them to know their content takes time, during
// which leases must be prolonged.
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
  /// Takes the source over: no other thread may touch it while the finder lives.
  explicit Finder(CheckpointSource& watch);
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  /// Readable when there is something to take.
  int descriptor() const { return news_; }
  struct News {
    std::vector<Found> found = {};
    std::vector<std::string> remarks = {};
    bool is_idle = false;  ///< everything was looked at, and nothing is expected
    std::vector<std::string> incomplete = {};  ///< paths
    std::string failure = {};                  ///< why the finder has ended; empty while it runs
  };
  /// News since the last call. Never waits.
  News take();

 private:
  void run(const std::stop_token& stop);
  void step();
  int wait_ms() const;

  CheckpointSource& watch_;
  int news_ = -1, stop_ = -1;  // eventfd
  std::mutex mutex_;
  News pending_;  // under the mutex
  std::jthread thread_;
};

}  // namespace flor::cli
