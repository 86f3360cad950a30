// flor shutdown: asks the watches of the store to end.
#include "commands/commands.h"
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

class Shutdown final : public Command {
 public:
  std::string_view name() const override { return "shutdown"; }
  std::string_view summary() const override { return "end the watches of this store"; }
  std::string_view lesson() const override {
    return R"(Asks every flor watch of the store to end, on whatever machine, and waits until it has. Each
finishes what is being judged and begins nothing; with --now that is ended, too, and given back to
the queue. What waits in the queue stays there for the next watch. No process is killed.

Examples:
  flor shutdown               when what is being judged is done
  flor shutdown --now         at once
  flor watch --status         which watches there are
)";
  }
  void setup(Syntax& syntax) override {
    syntax.flag("--now", now_, "end what is being judged, and give it back");
    syntax.option("--wait", "SECONDS", wait_, "at most so long; 0 does not wait");
  }
  int run(Context& context) override;

 private:
  std::vector<std::string> wait_for(const store::Store& store,
                                    const std::vector<store::Watcher>& asked) const;

  bool now_ = false;
  std::optional<std::uint64_t> wait_;
};

/// The keys of those that still live.
std::vector<std::string> Shutdown::wait_for(const store::Store& store,
                                            const std::vector<store::Watcher>& asked) const {
  const auto began = Clock::now();
  for (;;) {
    std::vector<std::string> left;
    for (const store::Watcher& watcher : store::watchers(store)) {
      if (std::ranges::find(asked, watcher.key, &store::Watcher::key) != asked.end()) {
        left.push_back(watcher.key);
      }
    }
    if (left.empty() || (wait_ && Clock::now() >= began + std::chrono::seconds(*wait_)))
      return left;
    std::this_thread::sleep_for(milliseconds(50));
  }
}

int Shutdown::run(Context& context) {
  store::Store& store = context.store_to_change();
  const auto asked =
      store::ask_to_stop(store, now_ ? store::StopRequest::now : store::StopRequest::drain);
  const std::vector<std::string> left = wait_for(store, asked);
  const auto has_ended = [&](const store::Watcher& watcher) {
    return std::ranges::find(left, watcher.key) == left.end();
  };
  if (context.json()) {
    Json result = document("shutdown");
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

}  // namespace

std::unique_ptr<Command> make_shutdown() { return std::make_unique<Shutdown>(); }

}  // namespace flor::cli
