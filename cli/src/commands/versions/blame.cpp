// flor blame: finds the version at which a metric changed most.
#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "hindsight/version_choice.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "shell/context.h"
#include "view/sources.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace flor::cli {
namespace {

/// The values of the metric in the runs of one version.
struct BlamePoint {
  VersionRuns version;
  std::vector<double> values;
  double mean = 0, least = 0, greatest = 0;
  std::vector<store::Argument> arguments;  ///< arguments of the newest run that has the metric
};

class Blame final : public Command {
 public:
  std::string_view name() const override { return "blame"; }
  std::string_view summary() const override {
    return "find the version at which a metric moved most";
  }
  std::string_view lesson() const override {
    return R"(Compares the metric in successive versions, oldest first: the mean of its last values in the runs of
each version (or loss:min, accuracy:max, ...). Names the step that is largest, and what changed in
it: sources, and arguments, since it need not have been the code. Where a version has several runs,
a step that is smaller than what its runs differ by among themselves is marked with ~.

Examples:
  flor blame accuracy                   the experiment last recorded here
  flor blame accuracy --where epochs=16 only runs of that length
  flor blame loss:min linear --patch    with the change of the sources line by line
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("METRIC", metric_, "name of a logged value, as in flor list --columns", true);
    syntax.operand("NAME", experiment_, "the experiment; the one last recorded here if left out",
                   false);
    syntax.flag("-p,--patch", patch_, "show what changed in the sources, line by line");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.other_name("--code", "use --patch");
  }
  int run(Context& context) override;

 private:
  std::vector<BlamePoint> points(Context& context, const std::string& experiment) const;
  void print_text(Context& context, const std::vector<BlamePoint>& points, std::size_t step) const;
  void print_json(Context& context, const std::string& experiment,
                  const std::vector<BlamePoint>& points, std::size_t step) const;

  std::string metric_, experiment_;
  std::vector<std::string> where_;
  bool patch_ = false;
};

/// The points of all versions in which a run has the metric as a number, oldest first.
std::vector<BlamePoint> Blame::points(Context& context, const std::string& experiment) const {
  const store::Catalog& catalog = context.catalog();
  std::vector<ListedRun> all;
  std::vector<VersionRuns> versions =
      versions_where(catalog, versions_of(catalog, experiment), where_, context.now_us());
  if (versions.empty()) none_meets(where_);
  for (const VersionRuns& version : versions) {
    for (const store::Run& run : version.runs) {
      all.push_back({run, catalog.metrics(run.id), catalog.arguments(run.id)});
    }
  }
  const RunColumn column = find_column(metric_, all);
  std::vector<BlamePoint> points;
  for (VersionRuns& version : versions) {
    BlamePoint point;
    for (const store::Run& run : version.runs) {
      const auto facts =
          std::ranges::find(all, run.id, [](const ListedRun& listed) { return listed.run.id; });
      const Field field = column.field(*facts, context.now_us());
      if (!field.number || std::isnan(*field.number)) continue;
      if (point.values.empty()) point.arguments = facts->arguments;
      point.values.push_back(*field.number);
    }
    if (point.values.empty()) continue;
    double sum = 0;
    for (const double value : point.values) sum += value;
    point.mean = sum / static_cast<double>(point.values.size());
    const auto [least, greatest] = std::ranges::minmax(point.values);
    point.least = least;
    point.greatest = greatest;
    point.version = std::move(version);
    points.push_back(std::move(point));
  }
  std::ranges::reverse(points);
  return points;
}

/// The index of the version with the largest change from the version before; 0 if there is none.
std::size_t largest_step(const std::vector<BlamePoint>& points) {
  std::size_t step = 0;
  double most = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double moved = std::abs(points[i].mean - points[i - 1].mean);
    if (moved > most) step = i;
    most = std::max(most, moved);
  }
  return step;
}

/// Whether the change is no larger than the spread of the runs of either version.
bool is_noise(const BlamePoint& before, const BlamePoint& now) {
  const double spread = std::max(before.greatest - before.least, now.greatest - now.least);
  return std::abs(now.mean - before.mean) <= spread;
}

/// The arguments that changed: "lr 0.01 -> 0.001, epochs 4 -> 8".
std::string changed_arguments(const BlamePoint& before, const BlamePoint& now) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const store::Argument& argument : before.arguments) {
    values[argument.name] = {argument.value, "-"};
  }
  for (const store::Argument& argument : now.arguments) {
    const auto [entry, added] = values.try_emplace(argument.name, "-", argument.value);
    entry->second.second = argument.value;
  }
  std::string text;
  for (const auto& [name, value] : values) {
    if (value.first == value.second) continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name, value.first, value.second);
  }
  return text;
}

struct BlameStep {
  bool known = false;
  std::vector<git::FileChange> changes;
  std::string patch;
};

BlameStep step_between(Context& context, const BlamePoint& before, const BlamePoint& now,
                       bool code) {
  BlameStep step;
  const std::string &from = before.version.commit, &to = now.version.commit;
  if (from.empty() || to.empty()) return step;
  Sources sources(context);
  const git::Repository* repository = sources.find(now.version.runs.front(), {from, to});
  if (!repository) return step;
  step.known = true;
  step.changes = repository->changes(from, to);
  if (code) step.patch = repository->diff(from, to);
  return step;
}

void Blame::print_text(Context& context, const std::vector<BlamePoint>& points,
                       std::size_t step) const {
  Output& out = context.out();
  Table table({{"version"},
               {"runs", Align::right},
               {printable(metric_), Align::right},
               {"change", Align::right},
               {"arguments"}});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const BlamePoint& point = points[i];
    const Tone tone = i == step && i > 0 ? Tone::warning : Tone::plain;
    table.add(short_commit(point.version.commit), tone);
    table.add(fmt::format("{}", point.values.size()), tone);
    table.add(readable(point.mean), tone);
    const std::string change =
        i == 0 ? ""
               : fmt::format("{}{:+.3g}", is_noise(points[i - 1], point) ? "~" : "",
                             point.mean - points[i - 1].mean);
    table.add(change, tone);
    table.add(i == 0 ? "" : changed_arguments(points[i - 1], point), tone);
  }
  table.print(out, context.style());
  if (step == 0) {
    context.note(points.size() < 2 ? "there is one version with it: nothing to compare"
                                   : "it is the same in every version");
    return;
  }
  const BlamePoint &before = points[step - 1], &now = points[step];
  out.write(fmt::format("\nmoved most at version {}, from {} to {}\n",
                        short_commit(now.version.commit), readable(before.mean),
                        readable(now.mean)));
  if (is_noise(before, now)) {
    out.write("  and no more than runs of one version differ by among themselves\n");
  }
  if (const std::string arguments = changed_arguments(before, now); !arguments.empty()) {
    out.write(fmt::format("  arguments  {}\n", printable(arguments)));
  }
  const BlameStep changed = step_between(context, before, now, patch_);
  if (!changed.known) {
    out.write("  sources    unknown\n");
    return;
  }
  out.write(fmt::format("  sources    {} since {}\n", change_summary(changed.changes),
                        short_commit(before.version.commit)));
  changes_table(changed.changes).print(out, context.style(), 4);
  if (patch_) {
    out.write("\n");
    print_patch(context, changed.patch);
  }
}

void Blame::print_json(Context& context, const std::string& experiment,
                       const std::vector<BlamePoint>& points, std::size_t step) const {
  Json result = document("blame");
  result["experiment"] = experiment;
  result["metric"] = metric_;
  Json versions = Json::array();
  for (const BlamePoint& point : points) {
    Json runs = Json::array();
    for (const store::Run& run : point.version.runs) runs.push_back(run.key);
    versions.push_back({{"commit", json_text(point.version.commit)},
                        {"runs", std::move(runs)},
                        {"mean", json_number(point.mean)},
                        {"min", json_number(point.least)},
                        {"max", json_number(point.greatest)}});
  }
  result["versions"] = std::move(versions);
  result["moved"] = nullptr;
  if (step > 0) {
    const BlameStep changed = step_between(context, points[step - 1], points[step], patch_);
    Json moved = {{"from", json_text(points[step - 1].version.commit)},
                  {"to", json_text(points[step].version.commit)},
                  {"change", json_number(points[step].mean - points[step - 1].mean)},
                  {"within_noise", is_noise(points[step - 1], points[step])},
                  {"changes", changed.known ? changes_json(changed.changes) : Json(nullptr)}};
    if (patch_) moved["patch"] = changed.known ? Json(changed.patch) : Json(nullptr);
    result["moved"] = std::move(moved);
  }
  print(context.out(), result);
}

int Blame::run(Context& context) {
  const std::string experiment =
      experiment_.empty() ? default_run(context.catalog()).start.experiment : experiment_;
  const std::vector<BlamePoint> found = points(context, experiment);
  if (found.empty()) {
    throw NotFound(fmt::format("no run of {} has '{}' as a number", printable(experiment),
                               printable(metric_)));
  }
  const std::size_t step = largest_step(found);
  if (context.json()) {
    print_json(context, experiment, found, step);
  } else {
    print_text(context, found, step);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_blame() { return std::make_unique<Blame>(); }

}  // namespace flor::cli
