// A process that signals itself after a certain amount of work: RAISE=SIGNAL:COUNT[:MICROSECONDS],
// where each piece of work takes that long. A fourth number is another signal, right behind. With
// RAISE_ONCE=FILE only the process that makes this file does it.
#pragma once

#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

inline void raise_when_due() {
  struct Plan {
    int signal = 0, second = 0;
    long left = 0, pause_us = 0;
  };
  static Plan plan = [] {
    Plan parsed;
    if (const char* text = std::getenv("RAISE")) {
      std::sscanf(text, "%d:%ld:%ld:%d", &parsed.signal, &parsed.left, &parsed.pause_us,
                  &parsed.second);
    }
    return parsed;
  }();
  if (plan.pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(plan.pause_us));
  if (plan.left == 0 || --plan.left != 0) return;
  const char* once = std::getenv("RAISE_ONCE");
  if (once && ::open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) return;
  std::raise(plan.signal);
  if (plan.second != 0) std::raise(plan.second);
}
