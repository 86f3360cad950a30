// Shows the progress of a replay on standard error: a bar on a terminal, otherwise a line now and
// then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace flor::cli {

class Progress {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows `done` of `all` epochs. `seconds_left`: negative if unknown. `waiting_for`: why there
  /// are no more workers; may be empty.
  void show(std::int64_t done, std::int64_t all, int workers, double seconds_left,
            std::string_view waiting_for = {});
  /// Prints a line above the bar, which stays when the bar is redrawn.
  void say(std::string_view line);
  void clear();

 private:
  bool terminal_;
  bool drawn_ = false;
  std::int64_t told_ = 0;  // progress last printed, in tenths of the whole
  std::string told_waiting_;
  std::chrono::steady_clock::time_point told_at_ = std::chrono::steady_clock::now();
};

}  // namespace flor::cli
