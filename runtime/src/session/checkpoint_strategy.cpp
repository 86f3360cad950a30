#include "session/runtime.h"

#include <flor/checkpoint_strategy.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace flor {
namespace {

using detail::Runtime;

void check_name(std::string_view name) {
  const auto is = [](int (*kind)(int)) {
    return [kind](char c) { return kind(static_cast<unsigned char>(c)) != 0; };
  };
  const bool safe = std::ranges::all_of(
      name, [&](char c) { return is(std::isalnum)(c) || c == '.' || c == '_' || c == '-'; });
  if (!safe || !is(std::isalpha)(name.front())) {
    throw UsageError(
        fmt::format("save_checkpoint: '{}' is no name for a checkpoint: begin with a "
                    "letter, and use letters, digits, '.', '_' and '-'",
                    name));
  }
  const std::string_view digits = name.substr(1);
  if (name.front() == 's' && !digits.empty() && std::ranges::all_of(digits, is(std::isdigit))) {
    throw UsageError(fmt::format(
        "save_checkpoint: names like '{}' are those of checkpoints without a name", name));
  }
}

std::optional<Checkpoint> find(bool best) {
  Runtime* session = detail::runtime();
  if (!session) return std::nullopt;
  if (!session->own_thread()) {
    throw UsageError(
        "best_checkpoint and latest_checkpoint belong to the thread that called flor::init");
  }
  const auto found = detail::run_inside([&] { return session->find_checkpoint(best); });
  if (!found) return std::nullopt;
  Checkpoint checkpoint{.run = session->run().key, .name = found->name, .score = found->score};
  if (found->name.empty()) checkpoint.epoch = found->number;
  return checkpoint;
}

}  // namespace

std::string Checkpoint::address() const {
  if (run.empty()) return {};
  return name.empty() ? fmt::format("{}@{}", run, epoch) : fmt::format("{}@{}", run, name);
}

namespace detail {

std::map<std::string, double> map_of(std::initializer_list<MetricScore> scores) {
  std::map<std::string, double> map;
  for (const MetricScore& score : scores) map[std::string(score.name)] = score.value;
  return map;
}

Checkpoint save_checkpoint(std::string_view name, const std::map<std::string, double>& scores,
                           std::vector<Slot> objects) {
  if (!name.empty()) check_name(name);
  Runtime* session = runtime();
  if (!session) return {};
  if (!session->own_thread()) {
    throw UsageError(
        "save_checkpoint was called in another thread than flor::init: call it where the loops "
        "are");
  }
  Checkpoint saved;
  saved.name =
      run_inside([&] { return session->save_checkpoint(name, scores, std::move(objects)); });
  if (!saved.name.empty()) saved.run = session->run().key;
  return saved;
}

}  // namespace detail

Checkpoint save_checkpoint(std::initializer_list<MetricScore> scores) {
  return detail::save_checkpoint({}, detail::map_of(scores), {});
}

Checkpoint save_checkpoint(std::string_view name, std::initializer_list<MetricScore> scores) {
  if (name.empty()) throw UsageError("save_checkpoint: the name is empty");
  return detail::save_checkpoint(name, detail::map_of(scores), {});
}

void score_checkpoint(const Checkpoint& saved, std::initializer_list<MetricScore> scores) {
  Runtime* session = detail::runtime();
  if (!session || saved.name.empty() || !session->own_thread()) return;
  session->score_checkpoint(saved.name, detail::map_of(scores));
}

std::optional<Checkpoint> best_checkpoint() { return find(true); }
std::optional<Checkpoint> latest_checkpoint() { return find(false); }

void Session::keep(const CheckpointStrategy& strategy) const {
  (void)store::rules_of(strategy);  // throws if the strategy is invalid
  Runtime* session = detail::runtime();
  if (session && mode_ != Mode::off) session->keep_checkpoints(strategy);
}

}  // namespace flor
