// Waits for something that another process or thread does.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace flor::testing {

/// Waits until `condition` holds. Returns false if it does not within a minute.
inline bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace flor::testing
