#include "protocol/verification.h"

#include "checkpoint/elsewhere.h"
#include "protocol/value_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

namespace flor::detail {
namespace {

/// Seconds of execution that certainty is always worth; the user can read the findings meanwhile.
constexpr double kShort = 60;

/// "train" of "epoch/train/inner"; empty for a place directly in the main loop.
std::string_view nested_part(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {};
  path.remove_prefix(slash + 1);
  return path.substr(0, path.find('/'));
}

/// The epochs as ranges; adjacent epochs form one.
std::vector<Epochs> pieces_of(const std::set<std::int64_t>& epochs) {
  std::vector<Epochs> pieces;
  for (const std::int64_t epoch : epochs) {
    if (!pieces.empty() && pieces.back().end == epoch) {
      ++pieces.back().end;
    } else {
      pieces.push_back({epoch, epoch + 1});
    }
  }
  return pieces;
}

}  // namespace

EpochTimes epoch_times(const store::Catalog& catalog, const store::Run& run, bool walks) {
  EpochTimes times;
  std::set<std::pair<std::int64_t, std::int64_t>> boundaries;
  for (const store::CheckpointInfo& info : store::reachable_checkpoints(catalog, run.id)) {
    if (info.key.kind == store::CheckpointKind::boundary) {
      boundaries.emplace(info.key.main_loop, info.key.iteration);
    }
  }
  const std::vector<store::MainLoop> loops = catalog.main_loops(run.id);
  std::vector<bool> begins;  // for each epoch: it can be reached without an earlier one
  for (const store::MainLoop& loop : loops) {
    for (std::int64_t i = 0; i < loop.iterations; ++i) {
      begins.push_back(!walks && (i == 0 || boundaries.contains({loop.ordinal, i})));
    }
  }
  times.seconds.resize(begins.size());
  for (const store::Iteration& iteration : catalog.iterations(run.id)) {
    const auto loop = static_cast<std::size_t>(iteration.main_loop);
    if (loop >= loops.size()) continue;
    const auto epoch = static_cast<std::size_t>(loops[loop].first_epoch + iteration.iteration);
    if (epoch >= times.seconds.size()) continue;
    times.seconds[epoch] = std::max(iteration.seconds - iteration.record_seconds, 0.0);
  }
  double way = 0;
  for (std::size_t epoch = 0; epoch < begins.size(); ++epoch) {
    way = (begins[epoch] ? 0 : way) + times.seconds[epoch];
    times.with_way.push_back(way);
  }
  return times;
}

VerifyPlan plan_verification(const EpochTimes& times, const std::set<std::int64_t>& candidates,
                             const VerifyWish& wish, double replayed) {
  if (candidates.empty() || wish.none()) return {};
  std::vector<std::int64_t> order(candidates.begin(), candidates.end());
  std::ranges::stable_sort(order, {}, [&](std::int64_t epoch) { return times.of(epoch); });
  const auto count = wish.all ? order.size() : static_cast<std::size_t>(wish.count.value_or(1));
  order.resize(std::min(count, order.size()));
  VerifyPlan plan;
  plan.seconds = times.startup;
  for (const std::int64_t epoch : order) plan.seconds += times.of(epoch) - times.startup;
  std::set<std::int64_t> chosen(order.begin(), order.end());
  const double limit = std::max(kShort, replayed);
  plan.too_long = !wish.all && !wish.count && plan.seconds > limit;
  const std::int64_t before = order.front() - 1;
  if (!wish.all && !wish.count && candidates.contains(before)) {
    const double both = times.of(before) + times.seconds.at(static_cast<std::size_t>(before + 1));
    if (both <= limit) {
      chosen.insert(before);
      plan.seconds = both;
    }
  }
  plan.epochs = pieces_of(chosen);
  return plan;
}

WorkerOrder verifying_order(WorkerOrder order, const std::set<std::string>& nested_loops) {
  order.probes.assign(nested_loops.begin(), nested_loops.end());
  order.no_probe = false;
  order.in_full = true;
  order.hands_in = true;
  order.cores.clear();
  return order;
}

std::vector<std::string> VerifierTalk::heed(const WorkerLine& line) {
  using Kind = WorkerLine::Kind;
  switch (line.kind) {
    case Kind::hello:
      return {fmt::format("replay {}", replay_)};
    case Kind::next: {
      if (next_ == pieces_.size()) return {"finish"};
      const Epochs piece = pieces_[next_++];
      return {fmt::format("epochs {} {}", piece.first, piece.end)};
    }
    case Kind::done:
      done_[line.part.part] = line.part;
      return {};
    case Kind::value:
      values_[line.value.part].push_back(line.value.value);
      return {};
    default:
      return {};
  }
}

const std::vector<store::Value>& VerifierTalk::values(std::int64_t epoch) const {
  static const std::vector<store::Value> none;
  const auto found = values_.find(epoch);
  return found == values_.end() ? none : found->second;
}

bool VerifierTalk::complete() const {
  return std::ranges::all_of(pieces_, [&](const Epochs& piece) {
    for (std::int64_t epoch = piece.first; epoch < piece.end; ++epoch) {
      if (!done_.contains(epoch)) return false;
    }
    return true;
  });
}

std::string first_disagreement(const std::vector<store::Value>& skipped,
                               const std::vector<store::Value>& executed) {
  std::unordered_map<std::string, const store::Value*> by_identity;
  std::set<std::string_view> loops{""};
  for (const store::Value& value : skipped) {
    by_identity[value_identity(value)] = &value;
    loops.insert(nested_part(value.place.path));
  }
  for (const store::Value& value : executed) {
    const auto found = by_identity.find(value_identity(value));
    if (found == by_identity.end()) {
      // A loop that was skipped logged nothing, so there is nothing to compare.
      if (!loops.contains(nested_part(value.place.path))) continue;
      return fmt::format("{} at {}: {} when executed, nothing the skipped way", value.name,
                         print_place(value.place), print_value(value));
    }
    if (!same_value(*found->second, value)) {
      return fmt::format("{} at {}: {} when executed, {} the skipped way", value.name,
                         print_place(value.place), print_value(value), print_value(*found->second));
    }
    by_identity.erase(found);
  }
  if (by_identity.empty()) return {};
  const store::Value& value = *by_identity.begin()->second;
  return fmt::format("{} at {}: nothing when executed, {} the skipped way", value.name,
                     print_place(value.place), print_value(value));
}

Verification note_verification(store::Catalog& catalog, std::int64_t run,
                               const std::set<std::int64_t>& replays, const VerifierTalk& talk) {
  Verification outcome;
  std::map<std::int64_t, std::vector<std::int64_t>> verified;  // by replay: the verified epochs
  for (const auto& [epoch, part] : talk.done()) {
    if (epoch < 0) continue;
    std::vector<store::Value> skipped = catalog.values(
        {.run = run, .first_epoch = epoch, .last_epoch = epoch, .recorded = false, .others = true});
    std::erase_if(skipped, [&](const store::Value& value) {
      return !replays.contains(value.replay) || value.verdict == store::ValueVerdict::doubtful;
    });
    std::set<std::int64_t> whose;
    for (store::Value& value : skipped) {
      whose.insert(value.replay);
      const std::string apart = fmt::format(" (replay {})", value.replay);
      if (value.name.ends_with(apart)) value.name.resize(value.name.size() - apart.size());
    }
    if (whose.empty()) continue;
    std::string difference = part.result.verdict == store::Verdict::differs
                                 ? part.result.first_difference
                                 : first_disagreement(skipped, talk.values(epoch));
    if (difference.empty()) {
      outcome.epochs.insert(epoch);
      for (const std::int64_t replay : whose) verified[replay].push_back(epoch);
      continue;
    }
    if (outcome.disagreement.empty()) outcome.disagreement = difference;
  }
  for (const auto& [replay, epochs] : verified) {
    if (outcome.disagreement.empty()) catalog.verify_replay(replay, epochs);
  }
  if (outcome.disagreement.empty()) return outcome;
  outcome.epochs.clear();
  for (const std::int64_t replay : replays) catalog.doubt_replay(replay, outcome.disagreement);
  return outcome;
}

std::string verifying_notice(const VerifyPlan& plan) {
  constexpr double kUnnoticed = 5;
  if (plan.seconds < kUnnoticed) return {};
  return fmt::format(
      "executing {} to verify the new values, about {:.0f} s: they can be read already, and Ctrl-C "
      "leaves them unverified",
      print_epochs(plan.epochs), plan.seconds);
}

std::string verifying_ranks_hint(const store::Run& run, const std::set<std::string>& loops) {
  const std::string asking =
      loops.empty() ? std::string()
                    : fmt::format(
                          ": flor replay {} --probe {} --again executes its loops in all "
                          "ranks",
                          run.key.substr(0, 8), fmt::join(loops, " --probe "));
  return fmt::format("not verified by execution, as one rank cannot execute an epoch alone{}",
                     asking);
}

std::string verifying_hint(const store::Run& run, const VerifyPlan& plan) {
  const std::string key = run.key.substr(0, 8);
  return fmt::format(
      "not verified by execution, which would take about {:.0f} s for {}: flor replay {} --verify, "
      "or --flor_verify 1",
      plan.seconds, print_epochs(plan.epochs), key);
}

}  // namespace flor::detail
