#include "remote/choice.h"

#include "output/terminal_text.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace flor::cli {
namespace {

using remote::RemoteRun;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// The key of the run that represents the run's group of ranks; of a run without ranks its own key.
const std::string& group_of(const RemoteRun& run) {
  return run.leader.empty() ? run.key : run.leader;
}

std::vector<RemoteRun> with_ranks(const std::vector<RemoteRun>& runs,
                                  const std::vector<RemoteRun>& chosen) {
  std::set<std::string> groups;
  for (const RemoteRun& run : chosen) groups.insert(group_of(run));
  std::vector<RemoteRun> all;
  std::ranges::copy_if(runs, std::back_inserter(all),
                       [&](const RemoteRun& run) { return groups.contains(group_of(run)); });
  // Sorted by the start of the recording, so that the latest run is also fetched last, and is the
  // latest in the store that fetches.
  std::map<std::string, std::int64_t> started;
  for (const RemoteRun& run : all) {
    const auto [group, is_new] = started.try_emplace(group_of(run), run.started_us);
    if (!is_new) group->second = std::min(group->second, run.started_us);
  }
  std::ranges::sort(all, {}, [&](const RemoteRun& run) {
    return std::tuple(started.at(group_of(run)), group_of(run), run.rank);
  });
  return all;
}

[[noreturn]] void throw_unknown(const std::vector<RemoteRun>& runs, std::string_view spec,
                                std::string_view url) {
  std::vector<std::string> names;
  for (const RemoteRun& run : runs) names.push_back(run.experiment);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  throw NotFound(fmt::format("no run '{}' in {}{}", printable(spec), printable(url),
                             did_you_mean(spec, names)));
}

}  // namespace

std::vector<RemoteRun> choose_remote(const std::vector<RemoteRun>& runs, std::string_view spec,
                                     std::string_view url) {
  std::vector<RemoteRun> chosen;
  std::ranges::copy_if(runs, std::back_inserter(chosen),
                       [&](const RemoteRun& run) { return run.experiment == spec; });
  if (!chosen.empty()) return with_ranks(runs, chosen);
  if (const std::size_t tilde = spec.rfind('~'); tilde != spec.npos) {
    auto before = number(spec.substr(tilde + 1));
    for (const RemoteRun& run : runs) {
      if (!before || run.rank > 0 || run.experiment != spec.substr(0, tilde)) continue;
      if ((*before)-- == 0) return with_ranks(runs, {run});
    }
    throw_unknown(runs, spec, url);
  }
  constexpr std::size_t kDigits = 4;
  std::ranges::copy_if(runs, std::back_inserter(chosen), [&](const RemoteRun& run) {
    return spec.size() >= kDigits && run.key.starts_with(spec);
  });
  if (chosen.empty()) throw_unknown(runs, spec, url);
  if (chosen.size() > 1) {
    throw UsageError(fmt::format("'{}' is the beginning of {} runs in {}: give more digits",
                                 printable(spec), chosen.size(), printable(url)));
  }
  return with_ranks(runs, chosen);
}

std::vector<RemoteRun> choose_remote(const remote::RunList& there, std::string_view spec,
                                     std::string_view url) {
  try {
    return choose_remote(there.runs, spec, url);
  } catch (const NotFound&) {
    constexpr std::size_t kDigits = 4;
    for (const remote::UnreadableRun& run : there.unreadable) {
      if (spec.size() < kDigits || !run.key.starts_with(spec)) continue;
      if (run.damaged) throw Damaged(run.why);
      throw Error(run.why);
    }
    throw;
  }
}

remote::RunList runs_in(remote::ObjectStore& objects, unsigned threads, remote::RunsFrom from) {
  remote::RunList there = remote::list_runs(objects, threads, from);
  if (!there.empty()) return there;
  throw NotFound(
      fmt::format("there are no runs in {}: bring one there with flor spool", objects.url()));
}

ExitStatus note_unreadable(Context& context, const remote::RunList& there) {
  ExitStatus status = ExitStatus::done;
  for (const remote::UnreadableRun& run : there.unreadable) {
    context.note(run.why);
    if (run.damaged) status = ExitStatus::damaged;
    if (status == ExitStatus::done) status = ExitStatus::partly_done;
  }
  return status;
}

std::string title(const RemoteRun& run) {
  return fmt::format("{} ({})", run.key.substr(0, 8), printable(run.experiment));
}

unsigned parse_transfers(std::optional<std::uint64_t> threads) {
  constexpr std::uint64_t kMost = 64;
  if (!threads) return remote::TransferOptions().threads;
  if (*threads < 1 || *threads > kMost) {
    throw UsageError(fmt::format("--transfers is a number from 1 to {}", kMost));
  }
  return static_cast<unsigned>(*threads);
}

std::int64_t parse_grace(std::string_view text) {
  constexpr std::int64_t kSecond = 1'000'000;
  constexpr std::uint64_t kMost = 100'000'000;
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = number(text.substr(0, end));
  const std::string_view unit = text.substr(end);
  const std::int64_t seconds = unit == "s"                  ? 1
                               : unit == "min"              ? 60
                               : unit == "h"                ? 3600
                               : unit == "d"                ? 86400
                               : unit.empty() && count == 0 ? 1
                                                            : 0;
  if (!count || *count > kMost || seconds == 0) {
    throw UsageError(fmt::format("'{}' is no time: 90s, 30min, 24h, 7d or 0", printable(text)));
  }
  return static_cast<std::int64_t>(*count) * seconds * kSecond;
}

}  // namespace flor::cli
