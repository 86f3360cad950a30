#include "commands/evaluate/watch_stop.h"

#include "commands/evaluate/watch_status.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "queue/watchers.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Waits until the watches have ended. Returns the keys of those that still run.
std::vector<std::string> wait_for(const store::Store& store,
                                  const std::vector<store::Watcher>& asked,
                                  std::optional<std::uint64_t> wait_s) {
  const auto began = Clock::now();
  for (;;) {
    std::vector<std::string> left;
    for (const store::Watcher& watcher : store::watchers(store)) {
      if (std::ranges::find(asked, watcher.key, &store::Watcher::key) != asked.end()) {
        left.push_back(watcher.key);
      }
    }
    if (left.empty() || (wait_s && Clock::now() >= began + std::chrono::seconds(*wait_s)))
      return left;
    std::this_thread::sleep_for(milliseconds(50));
  }
}

}  // namespace

int stop_watches(Context& context, const StopOptions& options) {
  store::Store& store = context.store_to_change();
  const auto asked =
      store::ask_to_stop(store, options.now ? store::StopRequest::now : store::StopRequest::drain);
  const std::vector<std::string> left = wait_for(store, asked, options.wait_s);
  const auto has_ended = [&](const store::Watcher& watcher) {
    return std::ranges::find(left, watcher.key) == left.end();
  };
  if (context.json()) {
    Json result = document("watch");
    result["watches"] = Json::array();
    for (const store::Watcher& watcher : asked) {
      Json entry = watcher_json(watcher);
      entry["ended"] = has_ended(watcher);
      result["watches"].push_back(std::move(entry));
    }
    print(context.out(), result);
  } else {
    for (const store::Watcher& watcher : asked) {
      context.out().write(fmt::format("watch {} ({}) {}\n", watcher.key.substr(0, 8),
                                      process_text(watcher),
                                      has_ended(watcher) ? "has ended" : "was asked to end"));
    }
  }
  if (asked.empty()) context.note("no watch runs here");
  return static_cast<int>(left.empty() ? ExitStatus::done : ExitStatus::partly_done);
}

}  // namespace flor::cli
