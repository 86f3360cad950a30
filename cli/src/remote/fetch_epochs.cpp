#include "remote/fetch_epochs.h"

#include "context.h"
#include "output/time.h"
#include "remote/choice.h"
#include "remote/transfer_bar.h"
#include "run_spec.h"

#include <flor/store/remote.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace flor::cli {
namespace {

/// "0,4..6" as ranges; an empty list as one of all epochs.
std::vector<EpochRange> ranges_of(std::string_view list) {
  if (list.empty()) return {EpochRange()};
  std::vector<EpochRange> ranges;
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    ranges.push_back(parse_epochs(list.substr(0, comma)));
    if (comma == list.size()) return ranges;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string fetch_for_replay(Context& context, std::string_view run, std::string_view epochs,
                             std::string_view url) {
  std::string spec(run.substr(0, run.rfind('@')));
  if (spec.size() < run.size() && epochs.empty()) epochs = run.substr(spec.size() + 1);
  const std::vector<EpochRange> ranges = ranges_of(epochs);
  const auto objects = remote::open_objects(url);
  const std::vector<remote::RemoteRun> there = remote::list_runs(*objects);
  // Of an experiment the latest run alone.
  if (std::ranges::find(there, spec, &remote::RemoteRun::experiment) != there.end()) spec += "~0";
  store::Store& opened = context.store_to_change(store::OpenMode::create);
  const std::vector<remote::RemoteRun> runs = choose_remote(there, spec, objects->url());
  for (const remote::RemoteRun& chosen : runs) {
    remote::FetchReport sum;
    for (const EpochRange& range : ranges) {
      TransferBar bar("fetching " + title(chosen));
      remote::FetchOptions options;
      options.progress = [&](const remote::TransferProgress& progress) { bar.show(progress); };
      if (range.first > 0) options.first_epoch = range.first;
      if (range.last < INT64_MAX) options.last_epoch = range.last;
      const remote::FetchReport report = remote::fetch(opened, *objects, chosen, options);
      sum.checkpoints += report.checkpoints;
      sum.bytes_received += report.bytes_received;
    }
    context.note(fmt::format("run {}: {} of {} checkpoints came from {}, {}", title(chosen),
                             sum.checkpoints, chosen.checkpoints, objects->url(),
                             bytes(sum.bytes_received)));
  }
  const auto named = std::ranges::find_if(
      runs, [&](const remote::RemoteRun& chosen) { return chosen.key.starts_with(spec); });
  return (named == runs.end() ? runs.front() : *named).key;
}

}  // namespace flor::cli
