#include "replay/progress.h"

#include "output/terminal_text.h"
#include "output/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace flor::cli {
namespace {

constexpr std::int64_t kBar = 24;  // width of the bar in columns

}  // namespace

void Progress::show(std::int64_t done, std::int64_t all, int workers, double seconds_left,
                    std::string_view waiting_for) {
  using std::chrono::seconds;
  if (all == 0) return;
  const auto now = std::chrono::steady_clock::now();
  const std::string left =
      done == all || seconds_left < 0 ? "" : fmt::format(", {} to go", remaining(seconds_left));
  const std::string text =
      fmt::format("{} of {} epochs, {} worker{}{}{}{}", done, all, workers, workers == 1 ? "" : "s",
                  left, waiting_for.empty() ? "" : "; ", printable(waiting_for));
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(done * kBar / all);
    const std::string bar =
        std::string(filled, '#') + std::string(static_cast<std::size_t>(kBar) - filled, '.');
    fmt::print(stderr, "\r[{}] {}\x1b[K", bar, text);
    drawn_ = true;
    return;
  }
  const std::int64_t tenth = done * 10 / all;
  if (tenth == told_ && waiting_for == told_waiting_ && now - told_at_ < seconds(30)) return;
  told_ = tenth;
  told_waiting_ = waiting_for;
  told_at_ = now;
  fmt::print(stderr, "flor: {}\n", text);
}

void Progress::say(std::string_view line) {
  clear();
  fmt::print(stderr, "flor: {}\n", printable(line));
}

void Progress::clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace flor::cli
