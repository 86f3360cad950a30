#include "ask/runs.h"

#include "base/text.h"
#include "protocol/program_of_run.h"
#include "retention/checkpoint_address.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace flor::ask {

namespace {

constexpr std::size_t kKeyDigits = 8;
constexpr std::size_t kCommitDigits = 8;

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && !text.empty() ? std::optional(value) : std::nullopt;
}

}  // namespace

EpochRange parse_epochs(std::string_view text) {
  const auto wrong = [&] {
    return UsageError(fmt::format(
        "--epochs {} is no range of epochs: use A..B (both included, 0-based), A.., ..B or A",
        store::printable(text)));
  };
  EpochRange range;
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto epoch = parse_count(text);
    if (!epoch) throw wrong();
    return {*epoch, *epoch};
  }
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  if (first.empty() && last.empty()) throw wrong();
  for (const auto& [part, target] : {std::pair(first, &range.first), {last, &range.last}}) {
    if (part.empty()) continue;
    const auto epoch = parse_count(part);
    if (!epoch) throw wrong();
    *target = *epoch;
  }
  if (range.first > range.last) throw wrong();
  return range;
}

RunChoice parse_run(const store::Store& store, std::string_view text) {
  store::RunAndPlace named = store::run_and_place(
      text, [&](std::string_view run) { return store.catalog().resolve(run); });
  if (named.place.empty()) return {std::move(named.run), std::nullopt};
  store::ChosenPlace place = store::find_place(store, named.run, named.place);
  return {std::move(named.run), place.epoch, std::move(place.saved)};
}

store::Run default_run(const store::Catalog& catalog, std::span<const std::string> without) {
  const auto is_without = [&](const store::Run& run) {
    return std::ranges::find(without, run.key) != without.end();
  };
  std::error_code unknown;
  for (auto place = std::filesystem::current_path(unknown); !place.empty();
       place = place.parent_path()) {
    if (const auto name = catalog.last_name(place.string())) {
      // The latest run of this name may have been recorded in another repository.
      auto runs = catalog.runs(*name, SIZE_MAX, store::RunDetail::all, store::RunRanks::first);
      std::erase_if(runs, [&](const store::Run& run) {
        return run.start.repository != place.string() || is_without(run);
      });
      detail::leave_out_fetched(runs);
      if (!runs.empty()) return std::move(runs.front());
      if (!without.empty()) {  // a run of another name, or of elsewhere, would be a surprise
        throw NotFound(
            fmt::format("there is no other run of '{}' in this repository: name a run "
                        "or an experiment, 'flor list' shows which there are",
                        store::printable(*name)));
      }
    }
    if (place == place.root_path()) break;
  }
  auto runs = catalog.runs({}, 1 + without.size(), store::RunDetail::all, store::RunRanks::first);
  std::erase_if(runs, is_without);
  if (runs.empty() && !without.empty()) {
    throw NotFound("the store has no run but the one that asks: record one before it");
  }
  if (runs.empty()) throw NotFound("the store has no runs: record one with --flor NAME first");
  return std::move(runs.front());
}

std::vector<store::Run> ranks_with(const store::Catalog& catalog, const store::Run& run) {
  if (!run.start.rank) return {run};
  return catalog.ranks(run.start.rank->group);
}

void stand_for_group(const store::Catalog& catalog, store::Run& run) {
  if (!run.start.rank) return;
  for (const store::Run& rank : ranks_with(catalog, run)) {
    if (rank.id == run.id) continue;
    run.checkpoints += rank.checkpoints;
    run.raw_bytes += rank.raw_bytes;
    run.stored_bytes += rank.stored_bytes;
    const auto said = [&](const std::string& text) {
      return text.empty() ? text : fmt::format("rank {}: {}", rank.start.rank->rank, text);
    };
    if (run.message.empty()) run.message = said(rank.message);
    if (run.degraded.empty()) run.degraded = said(rank.degraded);
  }
  run.state = catalog.group_state(run);
}

std::string short_key(const store::Run& run) { return run.key.substr(0, kKeyDigits); }

std::string title(const store::Run& run) {
  return fmt::format("{} ({})", short_key(run), store::printable(run.start.experiment));
}

std::string short_commit(std::string_view commit) {
  return commit.empty() ? "-" : store::printable(commit.substr(0, kCommitDigits));
}

}  // namespace flor::ask
