// flor show: describes a run, or one of its epochs.
#include "choose/asked.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "curves/machine_table.h"
#include "curves/machine_use.h"
#include "index/catalog/resume_point.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "protocol/plan.h"
#include "shell/context.h"
#include "trust/permit.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"
#include "view/printed_lines.h"
#include "view/show_facts.h"
#include "view/show_files.h"
#include "view/show_json.h"
#include "view/show_recording.h"
#include "view/show_retention.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace flor::cli {
namespace {

using store::CheckpointInfo, store::CheckpointKind;

class Show final : public Command {
 public:
  std::string_view name() const override { return "show"; }
  std::string_view summary() const override { return "show a run, or one of its epochs"; }
  std::string_view lesson() const override {
    return R"(A run is called by the first digits of its id, by NAME (its latest run), NAME~2 (two runs before)
or NAME:COMMIT. With @EPOCH: everything that is known of that epoch, with what was logged in it.
With @NAME: a checkpoint that the program saved under that name. --all adds where the run was
recorded and how it was built, its loops, what recording cost, each epoch and why it was stored or
not, the checkpoints, the replays and the environment.

Examples:
  flor show linear             the latest run of an experiment
  flor show linear --all       everything that is known of it
  flor show 3f2a               the run whose id begins so
  flor show linear~1@7         the eighth epoch of the run before, tables drawn out
  flor show linear --printed   what it printed; linear@7: in that epoch
  flor show linear --grep nan  the lines of that in which a pattern is found, with their epochs
  flor show linear --machine   CPU, memory, disk and GPUs by epochs
  flor show linear --json      for programs
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "RUN, RUN@EPOCH or RUN@NAME; the latest run here if left out",
                   false);
    syntax.flag("-a,--all", all_, "show everything that is known of the run");
    syntax.flag("--printed", printed_, "show what the program printed");
    syntax.option("--grep", "REGEX", grep_, "show the printed lines that have a match of this");
    syntax.flag("--machine", machine_, "show what the machine did, by epochs");
  }
  int run(Context& context) override;

 private:
  void show_printed(Context& context, const RunChoice& choice) const;

  std::string run_, grep_;
  bool all_ = false, printed_ = false, machine_ = false;
};

void heading(Context& context, std::string_view title) {
  context.out().write(fmt::format("\n{}\n", context.style().paint(Tone::strong, title)));
}

/// A table of names and values, without a header.
Table list_of_pairs() { return Table({{""}, {""}}, Table::Header::hidden); }

std::string size_text(std::uint64_t stored, std::uint64_t raw) {
  std::string text = fmt::format("{} stored of {}", bytes(stored), bytes(raw));
  if (raw > 0) {
    const double share = static_cast<double>(stored) / static_cast<double>(raw);
    text += fmt::format(" ({:.3g} %)", 100 * share);
  }
  return text;
}

/// How often and where the run was resumed: "once, 5 min ago at epoch 3, step 120 of train, with
/// commit 1a2b3c4d5e".
std::string resumptions_text(Context& context, const ShownRun& shown) {
  if (shown.resumptions.empty()) return {};
  const std::size_t count = shown.resumptions.size();
  const store::Resumption& last = shown.resumptions.back();
  std::string text = count == 1 ? std::string("once, ") : fmt::format("{} times, last ", count);
  text += fmt::format("{} at {}", relative(last.resumed_us, context.now_us()),
                      store::print_point(last.point));
  if (last.commit != shown.run.start.commit && !last.commit.empty()) {
    text += fmt::format(", with commit {}", last.commit);
  }
  return text;
}

/// The checkpoint that the run was forked from: "3f2a91c0@12, of which epochs 0 to 12 are copied".
std::string fork_text(const ShownRun& shown) {
  if (!shown.forks.from) return {};
  const std::int64_t last = shown.forks.from->epoch - 1;
  return fmt::format("{}@{}, of which {} {} copied{}",
                     printable(shown.forks.from->parent.substr(0, 8)), last,
                     detail::print_epochs({0, last + 1}), last == 0 ? "is" : "are",
                     shown.forks.is_parent_there ? "" : ", and which was removed since");
}

std::string forks_text(const ShownRun& shown) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, shown.forks.keys.size()); ++i) {
    text += (i > 0 ? ", " : "") + shown.forks.keys[i].substr(0, 8);
  }
  if (shown.forks.keys.size() > kNamed)
    text += fmt::format(" and {} more", shown.forks.keys.size() - kNamed);
  return text;
}

/// The rank and the other ranks of the group: "0 of 2; rank 1 is run 3f2a91c0, interrupted".
std::string ranks_text(const ShownRun& shown) {
  if (!shown.run.start.rank) return {};
  std::string text =
      fmt::format("{} of {}", shown.run.start.rank->rank, shown.run.start.rank->world);
  for (const store::Run& rank : shown.ranks) {
    if (rank.id == shown.run.id) continue;
    text += fmt::format("; rank {} is run {}, {}", rank.start.rank->rank, short_key(rank),
                        status_text(rank));
  }
  return text;
}

std::string resume_text(const ShownRun& shown) {
  if (!shown.point) return {};
  return fmt::format("--flor_resume --flor_run {} goes on at {}", shown.run.key.substr(0, 8),
                     store::print_point(*shown.point));
}

/// How the program was built: "target train, Release, by GNU 12.2.0 with -O3".
std::string build_text(const ShownRun& shown) {
  if (!shown.recipe) return {};
  const detail::BuildRecipe& recipe = *shown.recipe;
  std::string text = fmt::format("target {}", recipe.target);
  if (!recipe.configuration.empty()) text += ", " + recipe.configuration;
  if (!recipe.compiler.empty()) text += ", by " + recipe.compiler;
  if (!recipe.flags.empty()) text += " with " + recipe.flags;
  return text + fmt::format(", in {}", recipe.build_directory);
}

Tone tone_of(store::Verdict verdict) {
  switch (verdict) {
    case store::Verdict::verified:
      return Tone::good;
    case store::Verdict::unverified:
    case store::Verdict::doubtful:
      return Tone::warning;
    case store::Verdict::differs:
    case store::Verdict::failed:
      return Tone::bad;
  }
  return Tone::plain;
}

/// The verdict of a replay that has a result. For a fetched replay it is only the claim of its
/// origin.
std::string verdict_text(const store::Replay& replay) {
  const std::string name(store::to_string(replay.result->verdict));
  return replay.origin.recorded_here() ? name : "said to be " + name;
}

Tone verdict_tone(const store::Replay& replay) {
  if (!replay.result) return Tone::warning;
  const store::Verdict verdict = replay.result->verdict;
  const bool hearsay = !replay.origin.recorded_here() && verdict == store::Verdict::verified;
  return hearsay ? Tone::warning : tone_of(verdict);
}

/// The cost of recording: "62 ms of 5.1 s computing (1.22 %)".
std::string cost_text(const ShownRun& shown) {
  if (!shown.recording || !(shown.recording->computed > 0)) return {};
  return fmt::format("{} of {} computing ({})", duration(shown.recording->cost),
                     duration(shown.recording->computed),
                     percent(shown.recording->cost, shown.recording->computed));
}

/// The number of replays and the result of the last: "3, the last of them verified: 8 new values".
std::string replays_text(const ShownRun& shown) {
  if (shown.replays.empty()) return {};
  const store::Replay& last = shown.replays.back();
  const std::size_t count = shown.replays.size();
  return fmt::format(
      "{}{}{}", count, count == 1 ? ", " : ", the last of them ",
      last.result ? fmt::format("{}: {} new value{}", verdict_text(last), last.result->values_found,
                                last.result->values_found == 1 ? "" : "s")
                  : "running or died");
}

std::string arguments_text(const ShownRun& shown) {
  std::string text;
  for (const store::Argument& argument : shown.arguments) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", argument.name, argument.value);
  }
  return printable(text);
}

/// The number of cores that the record names, if it does.
std::string cores_of(const store::Run& run) {
  const auto found = run.start.environment.find("cores");
  return found == run.start.environment.end() ? std::string() : printable(found->second);
}

void print_head(Context& context, const ShownRun& shown, bool all) {
  const store::Run& run = shown.run;
  context.out().write(fmt::format("{} {} ({})\n", context.style().paint(Tone::strong, "run"),
                                  printable(run.key), printable(run.start.experiment)));
  Table table = list_of_pairs();
  const auto row = [&](std::string_view name, std::string_view text, Tone tone = Tone::plain) {
    if (text.empty()) return;
    table.add(name);
    table.add(text, tone);
  };
  row("status", status_text(run), status_tone(run));
  row("tags", fmt::format("{}", fmt::join(run.tags, " ")), Tone::strong);
  row("note", run.note);
  row("rank", ranks_text(shown));
  row("because", run.message);
  for (const store::Gap& gap : shown.gaps) {
    row("missing", fmt::format("{}: {}", store::print_gaps(std::span(&gap, 1)), gap.why.text()),
        Tone::warning);
  }
  row("resume", resume_text(shown));
  row("resumed", resumptions_text(context, shown));
  row("forked from", fork_text(shown));
  row("forks", forks_text(shown));
  std::string times = fmt::format("{} ({})", rfc3339(run.start.started_us),
                                  relative(run.start.started_us, context.now_us()));
  if (run.finished_us) {
    const double seconds = static_cast<double>(*run.finished_us - run.start.started_us) * 1e-6;
    times += fmt::format(", took {}", duration(seconds));
  }
  row("started", times);
  if (!run.origin.recorded_here()) {
    row("origin", origin_text(run.origin, context.now_us()), Tone::strong);
  }
  row("command", run.start.command.text());
  if (all) row("directory", run.start.directory);
  row("commit", run.start.commit.empty() ? "none (recorded without git)" : run.start.commit);
  if (all) {
    row("repository", run.start.repository);
    row("program", run.start.program);
    row("built", build_text(shown));
  }
  if (shown.build && !shown.build->remark.empty()) {
    row("stale", "the program " + shown.build->remark, Tone::bad);
  }
  if (!all) row("arguments", arguments_text(shown));
  row("epochs", fmt::format("{}", run.epochs));
  row("checkpoints",
      fmt::format("{}, {}", run.checkpoints, size_text(run.stored_bytes, run.raw_bytes)));
  row("keeps", strategy_text(shown));
  row("deleted", deleted_text(shown));
  row("proven", proven_text(shown));
  row("machine",
      machine_text(machine_use(context.catalog(), run.id, main_measures()), cores_of(run)));
  if (!all) {
    row("recording", cost_text(shown));
    row("replays", replays_text(shown),
        shown.replays.empty() ? Tone::plain : verdict_tone(shown.replays.back()));
  }
  table.print(context.out(), context.style(), 2);
}

void print_arguments(Context& context, const std::vector<store::Argument>& arguments) {
  if (arguments.empty()) return;
  heading(context, "arguments");
  Table table = list_of_pairs();
  for (const store::Argument& argument : arguments) {
    table.add(argument.name);
    table.add(argument.value);
  }
  table.print(context.out(), context.style(), 2);
}

void print_environment(Context& context, const store::Run& run) {
  if (run.start.environment.empty()) return;
  heading(context, "environment");
  Table table = list_of_pairs();
  for (const auto& [name, value] : run.start.environment) {
    table.add(name);
    constexpr std::size_t kShown = 120;  // states of generators that were used are long
    table.add(value.size() > kShown ? value.substr(0, kShown) + "..." : value);
  }
  table.print(context.out(), context.style(), 2);
}

void print_metrics(Context& context, const std::vector<store::MetricSummary>& metrics) {
  if (metrics.empty()) return;
  heading(context, "metrics");
  constexpr Align kRight = Align::right;
  Table table({{"name"},
               {"last", kRight},
               {"min", kRight},
               {"max", kRight},
               {"values", kRight},
               {"type"},
               {"origin"}});
  const auto bound = [](double value) { return std::isnan(value) ? "-" : readable(value); };
  for (const store::MetricSummary& metric : metrics) {
    table.add(metric.name);
    table.add(readable(metric.type, metric.last));
    table.add(bound(metric.minimum));
    table.add(bound(metric.maximum));
    table.add(fmt::format("{}", metric.count));
    table.add(store::to_string(metric.type));
    table.add(metric.doubtful    ? "doubtful"
              : metric.evaluated ? "evaluated"
              : metric.hindsight ? "hindsight"
                                 : "recorded",
              metric.doubtful                        ? Tone::warning
              : metric.hindsight || metric.evaluated ? Tone::hindsight
                                                     : Tone::plain);
  }
  table.print(context.out(), context.style(), 2);
}

std::string how_it_ended(const store::MainLoop& loop) {
  if (!loop.ended) return "not left";
  return loop.broke ? "left early" : "complete";
}

void print_loops(Context& context, const std::vector<store::MainLoop>& loops) {
  if (loops.empty()) return;
  heading(context, "main loops");
  Table table({{"name"}, {"epochs"}, {"iterations", Align::right}, {"ended"}});
  for (const store::MainLoop& loop : loops) {
    table.add(loop.name);
    table.add(loop.iterations == 0 ? "-"
                                   : fmt::format("{}..{}", loop.first_epoch,
                                                 loop.first_epoch + loop.iterations - 1));
    table.add(fmt::format("{}", loop.iterations));
    table.add(how_it_ended(loop));
  }
  table.print(context.out(), context.style(), 2);
}

std::string execution_text(const store::LoopExecution& execution) {
  return fmt::format("{}: {} in {}{}", execution.loop, execution.iterations,
                     duration(execution.seconds), execution.broke ? ", left early" : "");
}

/// The nested loops that were executed in one iteration.
std::string nested_text(const ShownRun& shown, const store::Iteration& iteration) {
  std::string text;
  for (const store::LoopExecution& execution : shown.executions) {
    if (execution.main_loop != iteration.main_loop || execution.iteration != iteration.iteration) {
      continue;
    }
    if (!text.empty()) text += "; ";
    text += execution_text(execution);
  }
  return text.empty() ? "-" : text;
}

std::string share_text(const store::Iteration& iteration) {
  if (!(iteration.seconds > 0)) return "-";
  return fmt::format("{:.2g} %", 100 * iteration.record_seconds / iteration.seconds);
}

void print_iterations(Context& context, const ShownRun& shown) {
  if (shown.iterations.empty()) return;
  heading(context, "epochs");
  Table table({{"epoch", Align::right},
               {"seconds", Align::right},
               {"Flor", Align::right},
               {"share", Align::right},
               {"nested loops", Align::left, true}});
  for (const store::Iteration& iteration : shown.iterations) {
    table.add(fmt::format("{}", shown.epoch_of(iteration.main_loop, iteration.iteration)));
    table.add(duration(iteration.seconds));
    table.add(duration(iteration.record_seconds));
    table.add(share_text(iteration));
    table.add(nested_text(shown, iteration));
  }
  table.print(context.out(), context.style(), 2);
}

/// The place of a checkpoint: "before epoch 3", "end of train in epoch 3", "at the end".
std::string place_text(const ShownRun& shown, const store::CheckpointKey& key) {
  const std::int64_t epoch = shown.epoch_of(key.main_loop, key.iteration);
  if (key.kind == CheckpointKind::saved) {
    return key.iteration < 0 ? key.loop : fmt::format("{}, epoch {}", key.loop, epoch);
  }
  if (const auto step = store::parse_step_name(key.loop); step) {
    return fmt::format("epoch {}, step {} of {}", epoch, step->step, step->loop);
  }
  if (key.kind == CheckpointKind::loop_end)
    return fmt::format("end of {}, epoch {}", key.loop, epoch);
  if (key.iteration == 0) return fmt::format("before {}", shown.loop_name(key.main_loop));
  return fmt::format("after epoch {}", epoch - 1);
}

void print_checkpoints(Context& context, const ShownRun& shown,
                       const std::vector<CheckpointInfo>& checkpoints) {
  if (checkpoints.empty()) return;
  heading(context, "checkpoints");
  Table table({{"kind"}, {"place"}, {"raw", Align::right}, {"stored", Align::right}});
  for (const CheckpointInfo& info : checkpoints) {
    table.add(store::to_string(info.key.kind));
    table.add(place_text(shown, info.key));
    table.add(bytes(info.raw_bytes));
    table.add(bytes(info.stored_bytes));
  }
  table.print(context.out(), context.style(), 2);
}

void print_replays(Context& context, const ShownRun& shown) {
  if (shown.replays.empty()) return;
  heading(context, "replays");
  Table table({{"id", Align::right},
               {"when"},
               {"segment"},
               {"epochs"},
               {"probes"},
               {"verdict"},
               {"compared"},
               {"found", Align::right}});
  for (const store::Replay& replay : shown.replays) {
    const store::NewReplay& start = replay.start;
    table.add(fmt::format("{}", replay.id));
    table.add(relative(start.started_us, context.now_us()));
    table.add(fmt::format("{}/{}", start.segment, start.segments));
    table.add(start.last_epoch < start.first_epoch
                  ? "none"
                  : fmt::format("{}..{}", start.first_epoch, start.last_epoch));
    table.add(start.probes.empty() ? "-" : start.probes);
    if (!replay.result) {
      table.add("running or died", Tone::warning);
      table.add("-");
      table.add("-");
      continue;
    }
    table.add(verdict_text(replay), verdict_tone(replay));
    table.add(fmt::format("{} values, {} states", replay.result->values_compared,
                          replay.result->states_compared));
    table.add(fmt::format("{}", replay.result->values_found));
  }
  table.print(context.out(), context.style(), 2);
  for (const store::Replay& replay : shown.replays) {
    if (replay.origin.recorded_here()) continue;
    context.out().write(
        fmt::format("  replay {}: {}\n", replay.id, origin_text(replay.origin, context.now_us())));
  }
  for (const store::Replay& replay : shown.replays) {
    if (!replay.result || replay.result->first_difference.empty()) continue;
    context.out().write(
        fmt::format("  replay {}: {}\n", replay.id, printable(replay.result->first_difference)));
  }
}

void print_run(Context& context, const ShownRun& shown, bool all) {
  print_head(context, shown, all);
  if (all) print_arguments(context, shown.arguments);
  print_files(context, shown, all);
  print_metrics(context, shown.metrics);
  if (!all) {
    print_saved(context, shown);
    context.note(fmt::format("flor show {} --all shows its epochs, checkpoints and replays",
                             short_key(shown.run)));
    return;
  }
  print_loops(context, shown.loops);
  print_recording(context, shown);
  print_iterations(context, shown);
  print_decisions(context, shown);
  print_checkpoints(context, shown, shown.checkpoints);
  print_saved(context, shown);
  print_replays(context, shown);
  print_environment(context, shown.run);
}

/// A JSON string without its quotes, any other value as JSON.
std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : compact(value);
}

/// Prints a logged table in full. Returns false if the value is no table.
bool print_matrix(Context& context, const store::Value& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (value.type != store::ValueType::table || !text) return false;
  const Json matrix = Json::parse(*text, nullptr, false);
  if (!matrix.is_object() || !matrix.contains("columns") || !matrix.contains("rows")) return false;
  const bool named = matrix.contains("row_names") && matrix["row_names"].is_array() &&
                     matrix["row_names"].size() == matrix["rows"].size();
  std::vector<Table::Column> columns;
  if (named) columns.push_back({""});
  for (const Json& title : matrix["columns"]) {
    columns.push_back({plain_text(title), Align::right});
  }
  const std::size_t width = matrix["columns"].size();
  if (width == 0) return false;
  heading(context, printable(value.name));
  Table table(std::move(columns));
  for (std::size_t i = 0; i < matrix["rows"].size(); ++i) {
    const Json& row = matrix["rows"][i];
    if (named) table.add(plain_text(matrix["row_names"][i]));
    for (std::size_t j = 0; j < width; ++j) {
      const bool there = row.is_array() && j < row.size();
      if (there && row[j].is_number_float()) {
        table.add(readable(row[j].get<double>()));
      } else {
        table.add(there ? compact(row[j]) : "-");
      }
    }
  }
  table.print(context.out(), context.style(), 2);
  return true;
}

void print_values(Context& context, const std::vector<store::Value>& values) {
  if (values.empty()) return;
  heading(context, "values");
  Table table({{"name"},
               {"loop"},
               {"step", Align::right},
               {"inner", Align::right},
               {"value", Align::right},
               {"origin"},
               {"verdict"}});
  for (const store::Value& value : values) {
    table.add(value.name);
    table.add(loop_text(value.place.path));
    table.add(value.place.step < 0 ? "-" : fmt::format("{}", value.place.step));
    table.add(value.place.inner.empty() ? "-" : value.place.inner);
    table.add(readable(value.type, value.value));
    table.add(origin_of(value), origin_tone(value));
    table.add(verdict_of(value), origin_tone(value));
  }
  table.print(context.out(), context.style(), 2);
  for (const store::Value& value : values) print_matrix(context, value);
}

void print_epoch(Context& context, const ShownRun& shown, const ShownEpoch& epoch) {
  context.out().write(fmt::format("{} {} of run {}\n", context.style().paint(Tone::strong, "epoch"),
                                  epoch.epoch, title(shown.run)));
  Table table = list_of_pairs();
  const auto row = [&](std::string_view name, std::string_view text) {
    table.add(name);
    table.add(text);
  };
  row("main loop",
      fmt::format("{}, iteration {}", shown.loop_name(epoch.main_loop), epoch.iteration));
  row("took", epoch.timing
                  ? fmt::format("{}, of which Flor {} ({})", duration(epoch.timing->seconds),
                                duration(epoch.timing->record_seconds), share_text(*epoch.timing))
                  : "not completed");
  if (epoch.decision) row("checkpoints", reason_text(epoch.decision->reason));
  for (const store::LoopExecution& execution : epoch.executions) {
    row("nested loop", execution_text(execution));
  }
  table.print(context.out(), context.style(), 2);
  print_checkpoints(context, shown, epoch.checkpoints);
  print_values(context, epoch.values);
}

/// Prints the last lines that the run printed in this epoch.
void print_printed(Context& context, const ShownRun& shown, std::int64_t epoch) {
  const std::vector<PrintedLine> lines =
      printed_lines(context.store(), shown.run, {.epochs = {epoch, epoch}, .grep = {}});
  if (lines.empty()) return;
  heading(context, "printed");
  constexpr std::size_t kShown = 20;
  const std::size_t first = lines.size() > kShown ? lines.size() - kShown : 0;
  if (first > 0) {
    context.out().write(fmt::format("  the last {} of {} lines; flor show {}@{} --printed: all\n",
                                    kShown, lines.size(), short_key(shown.run), epoch));
  }
  for (std::size_t i = first; i < lines.size(); ++i) {
    context.out().write(fmt::format("  {}\n", line_text(lines[i])));
  }
}

void Show::show_printed(Context& context, const RunChoice& choice) const {
  PrintedQuestion question;
  if (choice.epoch) question.epochs = {*choice.epoch, *choice.epoch};
  if (!grep_.empty()) question.grep = Pattern("--grep", grep_);
  const std::vector<PrintedLine> lines = printed_lines(context.store(), choice.run, question);
  if (context.json()) {
    Json head = document("show");
    head["run"] = choice.run.key;
    JsonList list(context.out(), head, "printed");
    for (const PrintedLine& line : lines) list.add(line_json(line));
    return list.end();
  }
  if (lines.empty()) {
    context.note(grep_.empty() ? "nothing that was printed is kept: record with --flor_output 16"
                               : "no printed line has a match");
  }
  for (const PrintedLine& line : lines) {
    if (question.grep) {
      const std::string place = line.place.epoch < 0 ? "-" : fmt::format("{}", line.place.epoch);
      context.out().write(fmt::format("{}: ", context.style().paint(Tone::strong, place)));
    }
    context.out().write(line_text(line) + "\n");
  }
}

int Show::run(Context& context) {
  const store::Catalog& catalog = context.catalog();
  RunChoice choice = run_.empty() ? RunChoice{default_run(catalog), {}} : parse_run(context, run_);
  if (printed_ || !grep_.empty()) {
    if (!choice.saved.empty()) {
      throw UsageError(fmt::format("--printed: {} is a checkpoint; name a run, or RUN@EPOCH",
                                   printable(choice.saved)));
    }
    show_printed(context, choice);
    return 0;
  }
  if (machine_) {
    print_machine(context, choice.run, choice.epoch);
    return 0;
  }
  const ShownRun shown = ShownRun::read(context.store(), std::move(choice.run));
  if (choice.epoch) {
    const ShownEpoch epoch = ShownEpoch::read(catalog, shown, *choice.epoch);
    if (context.json()) {
      print(context.out(), show_epoch_json(shown, epoch));
    } else {
      print_epoch(context, shown, epoch);
      print_printed(context, shown, *choice.epoch);
    }
  } else if (!choice.saved.empty()) {
    if (context.json()) {
      print(context.out(), show_saved_json(shown, choice.saved));
    } else {
      print_one_saved(context, shown, choice.saved);
    }
  } else if (context.json()) {
    Json result = show_run_json(shown);
    result["run"]["machine"] =
        machine_json(machine_use(catalog, shown.run.id, detail::measure_kinds()));
    print(context.out(), result);
  } else {
    print_run(context, shown, all_);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_show() { return std::make_unique<Show>(); }

}  // namespace flor::cli
