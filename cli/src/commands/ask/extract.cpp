// flor extract: makes metrics from the text that a run printed.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "imports/number_finder.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "protocol/printed_tape.h"
#include "shell/context.h"
#include "view/printed_lines.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

class Extraction final : public Command {
 public:
  std::string_view name() const override { return "extract"; }
  std::string_view summary() const override {
    return "make a metric of numbers that a run printed";
  }
  std::string_view lesson() const override {
    return R"(REGEX is searched for in every line that the run printed. The number in its first brackets becomes
a value at the place where the line was printed: its loop and epoch, and the order there. The
values are like those that a replay found, and verified, since the run itself printed them. The
same command again changes nothing.

Examples:
  flor extract linear 'loss=(\d+\.\d+)'                     the metric is called loss
  flor extract linear 'in (\S+) s' --name seconds           a name of your own
  flor query loss --run linear                              the values
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run", true);
    syntax.operand("REGEX", regex_, "the text to find, with brackets around the number", true);
    syntax.option("--name", "NAME", name_,
                  "name the metric (default: the word before the brackets)");
  }
  int run(Context& context) override;

 private:
  static std::vector<store::Value> find(const std::vector<PrintedLine>& lines,
                                        NumberFinder& finder);
  store::NewReplay question_about(const store::Run& run, std::int64_t now_us) const;

  std::string run_, regex_, name_;
};

std::vector<store::Value> Extraction::find(const std::vector<PrintedLine>& lines,
                                           NumberFinder& finder) {
  std::vector<store::Value> values;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> ordinals;
  bool are_integers = true;
  for (const PrintedLine& line : lines) {
    if (line.is_gap()) continue;
    finder.find(line.text, [&](ValueWord&& number) {
      are_integers = are_integers && number.type == store::ValueType::integer;
      values.push_back({.name = finder.name(),
                        .place = line.place,
                        .ordinal = ordinals[{line.place.epoch, line.place.path}]++,
                        .type = number.type,
                        .value = std::move(number.value)});
    });
  }
  for (store::Value& value : values) {
    if (are_integers || value.type == store::ValueType::real) continue;
    value.type = store::ValueType::real;
    value.value = static_cast<double>(std::get<std::int64_t>(value.value));
  }
  return values;
}

store::NewReplay Extraction::question_about(const store::Run& run, std::int64_t now_us) const {
  return {.run = run.id,
          .started_us = now_us,
          .first_epoch = 0,
          .last_epoch = run.epochs - 1,
          .probes = "(printed)",
          .program_digest = {},
          .command = store::RecordedCommand({"flor", "extract", regex_, "--name", name_}),
          .question = fmt::format("printed\n{}\n{}", name_, regex_)};
}

/// The parts of the run that have values, with the number of values.
std::vector<store::ReplayedPart> parts_of(const std::vector<store::Value>& values) {
  std::map<std::int64_t, store::ReplayedPart> parts;
  for (const store::Value& value : values) {
    store::ReplayedPart& part = parts[value.place.epoch];
    part.part = value.place.epoch;  // -1 outside of the loops, which is also the number of the
                                    // first part outside of loops
    part.result.verdict = store::Verdict::verified;
    part.found = store::ValueVerdict::verified;
    ++part.result.values_found;
  }
  std::vector<store::ReplayedPart> result;
  for (const auto& [epoch, part] : parts) result.push_back(part);
  return result;
}

bool are_known(const store::Catalog& catalog, const store::Run& run,
               const std::vector<store::Value>& values) {
  std::vector<store::Value> known =
      catalog.values({.run = run.id, .names = {values.front().name}, .recorded = false});
  const auto key = [](const store::Value& value) {
    return std::tie(value.place.epoch, value.place.path, value.ordinal, value.value);
  };
  std::vector<store::Value> wanted = values;
  const auto before = [&](const auto& a, const auto& b) { return key(a) < key(b); };
  std::ranges::sort(known, before);
  std::ranges::sort(wanted, before);
  return std::ranges::equal(known, wanted,
                            [&](const auto& a, const auto& b) { return key(a) == key(b); });
}

int Extraction::run(Context& context) {
  const store::Run run = parse_whole_run(context, run_);
  if (run.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is being recorded: extract when it has ended", title(run)));
  }
  NumberFinder finder("REGEX", regex_, name_);
  name_ = finder.name();
  const std::vector<store::Value> found =
      find(lines_of(detail::all_printed(context.catalog(), context.store().home(), run)), finder);
  if (const std::string doubt = finder.doubt(); !doubt.empty()) context.note(doubt);
  if (found.empty()) {
    throw NotFound(
        fmt::format("run {} printed no line with a match of '{}': flor show {} --printed "
                    "shows what it printed",
                    title(run), printable(regex_), short_key(run)));
  }
  for (const store::MetricSummary& metric : context.catalog().metrics(run.id)) {
    if (metric.name != name_ || metric.hindsight) continue;
    throw UsageError(fmt::format("run {} has a metric '{}' of its own: name this one, --name NAME",
                                 title(run), printable(name_)));
  }
  const bool known = are_known(context.catalog(), run, found);
  if (!known) {
    store::Catalog& catalog = context.store_to_change().catalog();
    const std::int64_t replay = catalog.add_replay(question_about(run, context.now_us()));
    std::vector<store::Value> values = found;
    for (store::Value& value : values) value.replay = replay;
    catalog.add_replayed(run.id, replay, values, parts_of(values));
    catalog.finish_replay(replay, {.finished_us = context.now_us(),
                                   .verdict = store::Verdict::verified,
                                   .values_found = static_cast<std::int64_t>(values.size()),
                                   .first_difference = {}});
  }
  if (context.json()) {
    Json result = document("extract");
    result["run"] = run.key;
    result["metric"] = name_;
    result["values"] = found.size();
    result["new"] = !known;
    print(context.out(), result);
  } else {
    context.out().write(fmt::format("run {}: {} of {}, {}\n", title(run),
                                    counted(static_cast<std::int64_t>(found.size()), "value"),
                                    printable(name_), known ? "known already" : "verified"));
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_extract() { return std::make_unique<Extraction>(); }

}  // namespace flor::cli
