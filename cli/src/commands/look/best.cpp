// flor best: finds the best checkpoint by a metric, over all runs of an experiment.
#include "checkpoint/named_checkpoints.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "curves/series.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "retention/checkpoint_address.h"
#include "retention/retention.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace flor::cli {
namespace {

using store::FoundCheckpoint;

/// A checkpoint of one of the runs, or an epoch without a checkpoint, with its value of the metric.
struct Ranked {
  const store::Run* run = nullptr;
  FoundCheckpoint found;

  bool is_saved() const { return found.group == store::Candidate::Group::saved; }
  bool is_stored() const { return found.id != 0; }
  double value() const { return found.score.value_or(0); }
  std::string place() const { return is_saved() ? found.name : fmt::format("{}", found.number); }
  std::string address() const { return fmt::format("{}@{}", short_key(*run), place()); }
  std::string where() const {
    return is_saved() ? "saved as " + printable(found.name)
                      : fmt::format("after epoch {}", found.number);
  }
};

class Best final : public Command {
 public:
  std::string_view name() const override { return "best"; }
  std::string_view summary() const override { return "find the best checkpoint over all runs"; }
  std::string_view lesson() const override {
    return R"(Ranks the epochs of all runs of an experiment by a logged number, and names the best one that has a
checkpoint; a line says so where an epoch without one was better. Where a run saved checkpoints
itself, those rank. Without --run, --experiment and --where: all runs of the experiment that was
last recorded here. Of one run alone, RUN@best:METRIC:min means its best wherever a checkpoint can be
named.

Examples:
  flor best loss --min                         of all runs of the latest experiment
  flor best accuracy --max --experiment linear
  flor best loss --min --where 'lr<0.01'       of all runs for which this holds
  flor export linear@best:loss:min model.pt    the best of the latest run of linear
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("METRIC", metric_, "name of a logged number", true);
    syntax.flag("--min", min_, "rank the smallest value first");
    syntax.flag("--max", max_, "rank the greatest value first");
    syntax.option("--run", "RUN", runs_, "look at this run only; may be given several times");
    syntax.option("--experiment", "NAME", experiment_, "look at every run of this experiment");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
  }
  int run(Context& context) override;

 private:
  void check_options() const;
  void check_order() const;
  std::vector<store::Run> choose(Context& context) const;
  std::vector<Ranked> rank(Context& context, const std::vector<store::Run>& runs) const;
  [[noreturn]] void throw_no_number(Context& context, const std::vector<store::Run>& runs) const;
  void print_text(Context& context, std::size_t runs, const Ranked& best,
                  const std::optional<Ranked>& better) const;
  void print_json(Context& context, std::size_t runs, const Ranked& best,
                  const std::optional<Ranked>& better) const;
  store::ScoreOrder order() const { return min_ ? store::ScoreOrder::min : store::ScoreOrder::max; }

  std::string metric_, experiment_;
  std::vector<std::string> runs_, where_;
  bool min_ = false, max_ = false;
};

void Best::check_options() const {
  if (!runs_.empty() && !experiment_.empty()) {
    throw UsageError("--run and --experiment exclude each other: give one of them");
  }
}

void Best::check_order() const {
  if (min_ != max_) return;
  throw UsageError(
      fmt::format("which values of '{}' are good? give --min or --max, as in 'flor best {} --min'",
                  printable(metric_), store::shell_word(metric_)));
}

std::vector<store::Run> Best::choose(Context& context) const {
  const store::Catalog& catalog = context.catalog();
  if (runs_.empty() && experiment_.empty() && !where_.empty()) {
    return choose_runs(context, {.where = where_});
  }
  std::vector<store::Run> runs;
  for (const std::string& text : runs_) runs.push_back(parse_whole_run(context, text));
  // The order of the catalog: the newest first, each once.
  std::ranges::sort(runs, std::ranges::greater(), &store::Run::id);
  const auto is_same = [](const store::Run& a, const store::Run& b) { return a.id == b.id; };
  runs.erase(std::unique(runs.begin(), runs.end(), is_same), runs.end());
  if (runs_.empty()) {
    const std::string experiment =
        experiment_.empty() ? default_run(catalog).start.experiment : experiment_;
    runs = catalog.runs(experiment, SIZE_MAX, store::RunDetail::all, store::RunRanks::first);
    if (runs.empty()) {
      throw NotFound(fmt::format("no experiment '{}': 'flor list --experiments' names them all",
                                 printable(experiment)));
    }
  }
  keep_runs_where(catalog, runs, where_, context.now_us());
  if (runs.empty()) none_meets(where_);
  return runs;
}

/// The candidates that have a number, best first; of equal ones, the older first.
std::vector<Ranked> Best::rank(Context& context, const std::vector<store::Run>& runs) const {
  std::vector<Ranked> all;
  std::vector<store::Score> scores;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    for (FoundCheckpoint& found : store::scored_checkpoints(context.store(), run->id, metric_)) {
      if (!found.score || std::isnan(*found.score)) continue;
      scores.push_back(found.score);
      all.push_back({&*run, std::move(found)});
    }
  }
  std::vector<Ranked> ranked;
  ranked.reserve(all.size());
  for (const std::size_t place : store::ranking(scores, order(), store::Tie::older)) {
    ranked.push_back(std::move(all[place]));
  }
  return ranked;
}

void Best::throw_no_number(Context& context, const std::vector<store::Run>& runs) const {
  const std::vector<std::string> metrics{metric_};
  require_metrics(context.catalog(), runs, metrics, "flor best METRIC --min|--max");
  throw NotFound(fmt::format("no epoch has a number of '{}': 'flor query {}' shows its values",
                             printable(metric_), store::shell_word(metric_)));
}

/// Whether a checkpoint that is not among the stored ones can still be found: then it was deleted,
/// and can be brought back.
bool can_be_brought_back(Context& context, const Ranked& ranked) {
  try {
    store::find_checkpoint(context.store(), ranked.run->key + "@" + ranked.place());
    return true;
  } catch (const NotFound&) {
    return false;
  }
}

std::string remedy(Context& context, const Ranked& ranked) {
  if (can_be_brought_back(context, ranked)) {
    return fmt::format("was deleted: flor keep {} --undo brings it back", ranked.address());
  }
  const bool has_way =
      !ranked.is_saved() &&
      !store::way_back(context.catalog(), *ranked.run, ranked.found.number).empty();
  if (has_way) {
    return fmt::format("was deleted: flor keep {} --undo computes it again", ranked.address());
  }
  return "is not stored: record with --flor_every 1 to store each epoch";
}

void Best::print_text(Context& context, std::size_t runs, const Ranked& best,
                      const std::optional<Ranked>& better) const {
  const char* rank = order() == store::ScoreOrder::min ? "smallest" : "greatest";
  context.out().write(fmt::format("run {} {}: {} {}, the {} of {}\nflor export {} model.pt\n",
                                  title(*best.run), best.where(), printable(metric_),
                                  readable(best.value()), rank,
                                  counted(static_cast<std::int64_t>(runs), "run"), best.address()));
  if (better) {
    context.note(fmt::format("run {} {} was better, {} {}, but its checkpoint {}",
                             title(*better->run), better->where(), printable(metric_),
                             readable(better->value()), remedy(context, *better)));
  }
}

Json ranked_json(const Ranked& ranked) {
  Json json;
  json["run"] = ranked.run->key;
  json["experiment"] = json_text(ranked.run->start.experiment);
  json["epoch"] = ranked.is_saved() ? Json() : Json(ranked.found.number);
  json["saved"] = json_text(ranked.found.name);
  json["value"] = json_number(ranked.value());
  return json;
}

void Best::print_json(Context& context, std::size_t runs, const Ranked& best,
                      const std::optional<Ranked>& better) const {
  Json result = document("best");
  result["metric"] = json_text(metric_);
  result["order"] = std::string(store::to_string(order()));
  result["runs"] = runs;
  result.update(ranked_json(best));
  result["checkpoint"] = fmt::format("{}@{}", best.run->key, best.place());
  result["not_stored"] = Json();
  if (better) {
    result["not_stored"] = ranked_json(*better);
    result["not_stored"]["deleted"] = can_be_brought_back(context, *better);
  }
  print(context.out(), result);
}

int Best::run(Context& context) {
  check_options();
  const std::vector<store::Run> runs = choose(context);
  const std::vector<Ranked> ranked = rank(context, runs);
  if (ranked.empty()) throw_no_number(context, runs);
  check_order();
  const auto best = std::ranges::find_if(ranked, &Ranked::is_stored);
  const Ranked& first = ranked.front();
  if (best == ranked.end()) {
    throw NotFound(fmt::format("no checkpoint has a value of '{}'; that of run {} {}, {}, {}",
                               printable(metric_), title(*first.run), first.where(),
                               readable(first.value()), remedy(context, first)));
  }
  // An epoch that is not stored is only named if its value is better than the best stored one.
  std::optional<Ranked> better;
  if (first.value() != best->value()) better = first;
  if (context.json()) {
    print_json(context, runs.size(), *best, better);
  } else {
    print_text(context, runs.size(), *best, better);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_best() { return std::make_unique<Best>(); }

}  // namespace flor::cli
