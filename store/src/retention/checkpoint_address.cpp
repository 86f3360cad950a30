#include "retention/checkpoint_address.h"

#include "base/edit_distance.h"
#include "base/text.h"
#include "retention/retention.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace flor::store {
namespace {

constexpr std::string_view kLatest = "latest", kBest = "best", kBestBy = "best:";

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value < INT64_MAX ? std::optional(value) : std::nullopt;
}

std::string key_of(const Run& run) { return run.key.substr(0, 8); }
std::string title(const Run& run) {
  return fmt::format("{} ({})", key_of(run), printable(run.start.experiment));
}

/// Returns the position of the '@' before the place. In RUN@best:METRIC:min it may not be the last
/// one, because the metric may contain '@'.
std::size_t place_of(std::string_view text) {
  const std::size_t best = text.rfind("@best:");
  if (best != text.npos && parse_best_by(text.substr(best + 1 + kBestBy.size()))) return best;
  return text.rfind('@');
}

bool is_word(std::string_view place) {
  return place == kLatest || place == kBest || place.starts_with(kBestBy);
}

[[noreturn]] void throw_none_stored(const Store& store, const Run& run) {
  const auto deleted = store.catalog().discarded(run.id);
  const bool can_return = std::ranges::any_of(deleted, [](const DiscardedCheckpoint& checkpoint) {
    return !checkpoint.collected_us && checkpoint.info.key.kind == CheckpointKind::boundary;
  });
  if (can_return) {
    throw NotFound(fmt::format(
        "run {} has no checkpoint any more: they were deleted, 'flor keep {} --undo' brings them "
        "back",
        title(run), key_of(run)));
  }
  throw NotFound(
      fmt::format("run {} has no checkpoint: see 'flor show {}'", title(run), key_of(run)));
}

ChosenPlace place_of(const FoundCheckpoint& found) {
  if (found.group == Candidate::Group::saved) return {std::nullopt, found.name};
  return {found.number};
}

BestBy metric_of(const Run& run, std::string_view place) {
  auto by = parse_best_by(place.substr(kBestBy.size()));
  if (by) return *std::move(by);
  throw UsageError(fmt::format(
      "{}@{}: give the metric, and which of its values are good, as in {}@best:loss:min or "
      "{}@best:accuracy:max",
      key_of(run), printable(place), key_of(run), key_of(run)));
}

ChosenPlace find_best(const Store& store, const Run& run, const CheckpointStrategy& strategy) {
  const std::string& metric = strategy.score_attribute;
  const auto found = best_checkpoint(store, run.id, strategy);
  if (!found) throw_none_stored(store, run);
  if (metric.empty() || (found->score && !std::isnan(*found->score))) return place_of(*found);
  require_metric(store, run.id, metric);
  throw NotFound(fmt::format(
      "no stored checkpoint of run {} has {} of '{}': 'flor best {} --{} --run {}' says which "
      "epochs have one",
      title(run), found->score ? "a value but NaN" : "a value", printable(metric),
      shell_word(metric), to_string(strategy.score_order), key_of(run)));
}

ChosenPlace find_best(const Store& store, const Run& run) {
  if (const auto strategy = store.catalog().strategy(run.id)) {
    return find_best(store, run, *strategy);
  }
  throw UsageError(
      fmt::format("run {} has no strategy that says which checkpoint is best: name a metric, as in "
                  "{}@best:loss:min",
                  title(run), key_of(run)));
}

ChosenPlace find_latest(const Store& store, const Run& run) {
  const auto found = latest_epoch(store, run.id);
  if (!found) throw_none_stored(store, run);
  return place_of(*found);
}

}  // namespace

std::optional<BestBy> parse_best_by(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  const std::string_view order = text.substr(colon + 1);
  if (order != "min" && order != "max") return std::nullopt;
  return BestBy{std::string(text.substr(0, colon)),
                order == "min" ? ScoreOrder::min : ScoreOrder::max};
}

std::string_view run_of_spec(std::string_view text) { return text.substr(0, place_of(text)); }

RunAndPlace run_and_place(std::string_view text, const ResolveRun& resolve) {
  const std::size_t at = place_of(text);
  if (at == text.npos) return {resolve(text), {}};
  const std::string_view name = text.substr(0, at), place = text.substr(at + 1);
  if (parse_number(place)) return {resolve(name), std::string(place)};
  try {
    return {resolve(text), {}};  // a name with '@', like "me@home"
  } catch (const NotFound&) {
    if (is_word(place)) return {resolve(name), std::string(place)};
    std::optional<Run> run;
    try {
      run = resolve(name);
    } catch (const NotFound&) {  // the message about the whole text is used instead
    }
    if (!run || place.empty()) throw;
    return {*std::move(run), std::string(place)};
  }
}

std::string way_back(const Catalog& catalog, const Run& run, std::int64_t epoch,
                     std::string_view loop) {
  const auto kind = loop.empty() ? CheckpointKind::boundary : CheckpointKind::loop_end;
  const std::vector<MainLoop> loops = catalog.main_loops(run.id);
  for (const DiscardedCheckpoint& deleted : catalog.discarded(run.id)) {
    const CheckpointKey& key = deleted.info.key;
    const auto main_loop = std::ranges::find(loops, key.main_loop, &MainLoop::ordinal);
    if (key.kind != kind || key.loop != loop || main_loop == loops.end()) continue;
    const std::int64_t of =
        main_loop->first_epoch + key.iteration - (kind == CheckpointKind::boundary ? 1 : 0);
    if (of != epoch) continue;
    return fmt::format("it was deleted, `flor keep {}@{} --undo` {}", key_of(run), epoch,
                       deleted.collected_us ? "computes it again" : "brings it back");
  }
  return {};
}

ChosenPlace find_place(const Store& store, const Run& run, std::string_view place) {
  if (const auto epoch = parse_number(place)) return {epoch};
  std::vector<std::string> names;
  for (const SavedCheckpoint& saved : store.catalog().saved(run.id)) names.push_back(saved.name);
  if (std::ranges::find(names, place) != names.end()) return {std::nullopt, std::string(place)};
  if (place == kLatest) return find_latest(store, run);
  if (place == kBest) return find_best(store, run);
  if (place.starts_with(kBestBy)) {
    const BestBy by = metric_of(run, place);
    return find_best(store, run, {.score_attribute = by.metric, .score_order = by.order});
  }
  names.insert(names.end(), {std::string(kLatest), std::string(kBest)});
  const std::vector<std::string> near = nearest(place, names);
  throw NotFound(fmt::format("run {} saved no checkpoint '{}': {}", title(run), printable(place),
                             near.empty()
                                 ? "give an epoch, as in RUN@3, or RUN@latest"
                                 : fmt::format("did you mean '{}'?", printable(near.front()))));
}

}  // namespace flor::store
