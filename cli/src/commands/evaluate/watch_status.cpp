#include "commands/evaluate/watch_status.h"

#include "index/values/evaluations.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace flor::cli {
namespace {

using store::JobState;

/// The numbers of jobs of one evaluator, over all watches.
struct Counts {
  std::int64_t waiting = 0, done = 0, failed = 0;
  std::map<std::string, std::int64_t> at_work = {};  ///< by the watcher's key
};

std::map<std::string, Counts> count_jobs(const store::JobQueue& queue) {
  std::map<std::int64_t, std::string> specs;
  for (const store::Evaluator& evaluator : queue.evaluators()) specs[evaluator.id] = evaluator.spec;
  std::map<std::string, Counts> by_spec;
  for (const store::Job& job : queue.jobs()) {
    Counts& counts = by_spec[specs[job.what.evaluator]];
    counts.waiting += job.state == JobState::queued || job.state == JobState::failed ? 1 : 0;
    counts.done += job.state == JobState::done ? 1 : 0;
    counts.failed += job.state == JobState::dead ? 1 : 0;
    // In a queue that several machines share, an owner is PLACE/KEY.
    const std::string key = job.owner.substr(job.owner.rfind('/') + 1);
    if (job.state == JobState::leased) ++counts.at_work[key];
  }
  return by_spec;
}

/// The places that each evaluator of a watcher evaluates, by the evaluator's specification.
std::map<std::string, std::vector<std::string>> places_by_spec(const store::Watcher& watcher) {
  std::map<std::string, std::vector<std::string>> places;
  for (const store::WatchedPlace& place : watcher.places) {
    places[place.spec].push_back(place.place);
  }
  return places;
}

const char* state_of(const store::Watcher& watcher) {
  switch (watcher.stop) {
    case store::StopRequest::none:
      return "watching";
    case store::StopRequest::drain:
      return "draining";
    case store::StopRequest::now:
      return "ending";
  }
  return "unknown";
}

std::int64_t at_work(const Counts& counts, const store::Watcher& watcher) {
  const auto found = counts.at_work.find(watcher.key);
  return found == counts.at_work.end() ? 0 : found->second;
}

void print_table(Context& context, const std::vector<store::Watcher>& watchers,
                 std::map<std::string, Counts> counts) {
  Table table({{"WATCH"},
               {"PROCESS"},
               {"SINCE"},
               {"STATE"},
               {"EVALUATOR"},
               {"WORKERS", Align::right},
               {"AT WORK", Align::right},
               {"WAITING", Align::right},
               {"DONE", Align::right},
               {"FAILED", Align::right},
               {"WATCHES", Align::left, true}});
  for (const store::Watcher& watcher : watchers) {
    for (const auto& [spec, places] : places_by_spec(watcher)) {
      const Counts& count = counts[spec];
      table.add(watcher.key.substr(0, 8));
      table.add(fmt::format("{}@{}", watcher.pid, watcher.host));
      table.add(relative(watcher.began_us, context.now_us()));
      table.add(state_of(watcher));
      table.add(store::evaluator_name(spec));
      for (const std::int64_t number :
           {watcher.workers, at_work(count, watcher), count.waiting, count.done, count.failed}) {
        table.add(std::to_string(number));
      }
      table.add(fmt::format("{}", fmt::join(places, ", ")));
    }
  }
  table.print(context.out(), context.style());
}

}  // namespace

Json watcher_json(const store::Watcher& watcher) {
  return {{"key", watcher.key},
          {"pid", watcher.pid},
          {"host", json_text(watcher.host)},
          {"began", json_time(watcher.began_us)},
          {"state", state_of(watcher)},
          {"workers", watcher.workers}};
}

std::string process_text(const store::Watcher& watcher) {
  return fmt::format("pid {} on {}", watcher.pid, printable(watcher.host));
}

void print_watch_status(Context& context, const store::JobQueue& queue) {
  const std::vector<store::Watcher> watchers = store::watchers(context.store());
  std::map<std::string, Counts> counts = count_jobs(queue);
  if (context.json()) {
    Json result = document("watch");
    result["watches"] = Json::array();
    for (const store::Watcher& watcher : watchers) {
      Json entry = watcher_json(watcher);
      entry["evaluators"] = Json::array();
      for (const auto& [spec, places] : places_by_spec(watcher)) {
        const Counts& count = counts[spec];
        Json list = Json::array();
        for (const std::string& place : places) list.push_back(json_text(place));
        entry["evaluators"].push_back({{"evaluator", json_text(spec)},
                                       {"watches", std::move(list)},
                                       {"at_work", at_work(count, watcher)},
                                       {"waiting", count.waiting},
                                       {"done", count.done},
                                       {"failed", count.failed}});
      }
      result["watches"].push_back(std::move(entry));
    }
    print(context.out(), result);
    return;
  }
  if (watchers.empty()) return context.note("no watch runs here");
  print_table(context, watchers, std::move(counts));
}

}  // namespace flor::cli
