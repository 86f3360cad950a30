// Repeated attempts at a lock that other processes hold only briefly.
#pragma once

#include <chrono>
#include <random>
#include <thread>

namespace flor::git {

class Backoff {
 public:
  explicit Backoff(std::chrono::milliseconds limit)
      : deadline_(std::chrono::steady_clock::now() + limit) {}

  /// Sleeps for a random time, longer with each call, so that processes that wait do not try
  /// together. Returns false once the deadline has passed.
  bool wait() {
    if (std::chrono::steady_clock::now() >= deadline_) return false;
    std::uniform_int_distribution<int> share(500, 1500);
    std::this_thread::sleep_for(delay_ * share(random_) / 1000);
    delay_ = std::min<std::chrono::microseconds>(delay_ * 2, std::chrono::milliseconds(50));
    return true;
  }

 private:
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::microseconds delay_{1000};
  std::minstd_rand random_{std::random_device{}()};
};

inline constexpr std::chrono::milliseconds kLockPatience{4000};

}  // namespace flor::git
