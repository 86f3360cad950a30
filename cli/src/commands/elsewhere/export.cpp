// flor export: writes a checkpoint, or logged values of runs, to files for other tools.
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "curves/series.h"
#include "export/export_file.h"
#include "export/tensorboard.h"
#include "export/value_rows.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "retention/checkpoint_address.h"
#include "shell/context.h"
#include "shell/refusals.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace flor::cli {
namespace {

using store::CheckpointInfo;
using store::CheckpointKind;

enum class Format { csv, json, jsonl, tensorboard, checkpoint };

class Export final : public Command {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override {
    return "write checkpoints and logged values as files";
  }
  std::string_view lesson() const override {
    return R"(With a file that ends in .pt or .safetensors: the state after an epoch, or after the last one that is
stored. A .pt file is the state dictionary of the module that the program registered, for
load_state_dict in Python and torch::pickle_load in libtorch; where there are several, of all objects,
unless --object chooses one. A .safetensors file has the whole checkpoint. With --format, or a file that ends in .csv, .json or .jsonl: all values that the runs
logged, that replays found and that evaluators found, one a row. For TensorBoard -o names the
directory in which each run gets one of its own: then 'tensorboard --logdir DIRECTORY'.

Examples:
  flor export linear@12 model.pt                  then model.load_state_dict(torch.load("model.pt"))
  flor export gan model.pt --object generator     one of several modules
  flor export linear@12 state.safetensors         everything that was registered
  flor export linear@s3 model.pt                  what flor::save_checkpoint named s3
  flor export linear@12 model.pt --loop train     at the end of the nested loop
  flor export linear values.csv                   what it logged
  flor export linear --format jsonl -m loss | head
  flor export linear values.csv -c arguments      with the arguments that differ in each row
  flor export linear good.csv --where 'accuracy>0.9'
                                                  what all such runs of linear logged
  flor export $(flor list linear -q) --format tensorboard -o logs
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("RUN", words_, "the run, then FILE; RUN@EPOCH or RUN@NAME for a checkpoint");
    syntax.option("-o,--output", "FILE", output_,
                  "write to this file; for TensorBoard to this directory");
    syntax.option("--format", "FORMAT", format_,
                  "write csv, json, jsonl or tensorboard (default: by FILE's ending)");
    syntax.option("-l,--loop", "NAME", loop_, "write the state at the end of this nested loop");
    syntax.option("--object", "NAME", object_,
                  "write this object's state dictionary to a .pt file");
    syntax.option("-m,--metric", "METRIC", metrics_, "write only values of this name");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.option("-c,--columns", "A,B", columns_,
                  "write these columns of flor list, as lr,tag, in each row of values");
    syntax.option("--epochs", "EPOCHS", epochs_, "write only values of these: A..B, both included");
  }
  int run(Context& context) override;

 private:
  Format read_words();
  int export_one_checkpoint(Context& context);
  int export_values(Context& context, Format format);
  int export_events(Context& context, const std::vector<store::Run>& runs,
                    const ExportQuestion& question);
  Json export_events_of(Context& context, const store::Run& run, const ExportQuestion& question);
  CheckpointInfo choose(const store::Catalog& catalog, const RunChoice& choice) const;
  [[noreturn]] void throw_none(const store::Catalog& catalog, const RunChoice& choice,
                               const std::string& stored) const;

  std::vector<std::string> words_, metrics_, where_;
  std::string output_, format_, loop_, object_, epochs_, columns_;
};

std::optional<Format> format_of(std::string_view file) {
  const auto ending = std::filesystem::path(file).extension();
  if (ending == ".csv") return Format::csv;
  if (ending == ".json") return Format::json;
  if (ending == ".jsonl") return Format::jsonl;
  if (ending == ".safetensors" || ending == ".pt" || ending == ".pth") return Format::checkpoint;
  return std::nullopt;
}

Format parse_format(std::string_view text) {
  if (text == "csv") return Format::csv;
  if (text == "json") return Format::json;
  if (text == "jsonl") return Format::jsonl;
  if (text == "tensorboard") return Format::tensorboard;
  throw UsageError(
      fmt::format("--format {}: use csv, json, jsonl or tensorboard", printable(text)));
}

/// Splits the operands: afterwards `words_` has only runs, and `output_` the file. Returns the
/// format.
Format Export::read_words() {
  const bool ends_in_file = words_.size() == 2 || (words_.size() == 1 && !where_.empty());
  if (output_.empty() && format_.empty() && ends_in_file) {
    output_ = words_.back();
    words_.pop_back();
  }
  std::optional<Format> format;
  if (!format_.empty()) {
    format = parse_format(format_);
  } else if (!output_.empty()) {
    format = format_of(output_);
    if (!format) {
      throw UsageError(fmt::format(
          "'{}' ends in neither .safetensors, .pt, .csv, .json nor .jsonl: the ending chooses the "
          "format, or --format does",
          printable(output_)));
    }
  } else {
    throw UsageError(
        "nothing says what to write: give a file as in 'flor export RUN model.pt', or --format");
  }
  const bool values_asked = !metrics_.empty() || !epochs_.empty() || !where_.empty();
  if (format == Format::checkpoint && (words_.size() != 1 || values_asked)) {
    throw UsageError(
        "a checkpoint file is of one epoch and holds no values: give only RUN@EPOCH, as in 'flor "
        "export RUN@EPOCH model.pt'");
  }
  if (format != Format::checkpoint && !(loop_.empty() && object_.empty())) {
    throw UsageError("--loop and --object are for a checkpoint file: leave them out for values");
  }
  if (!columns_.empty() && (format == Format::checkpoint || format == Format::tensorboard)) {
    throw UsageError("--columns are of rows of values: write a .csv, .json or .jsonl file");
  }
  if (format == Format::tensorboard && output_.empty()) {
    throw UsageError("TensorBoard reads directories: name one with -o");
  }
  return *format;
}

/// The epoch that ends with this checkpoint, counted over all main loops.
std::int64_t epoch_of(const std::vector<store::MainLoop>& loops, const store::CheckpointKey& key) {
  std::int64_t first = 0;
  for (const store::MainLoop& loop : loops) {
    if (loop.ordinal == key.main_loop) first = loop.first_epoch;
  }
  return first + key.iteration - (key.kind == CheckpointKind::boundary ? 1 : 0);
}

/// ": it was deleted, ..." if the saved checkpoint can be restored, else empty.
std::string deleted_text(const store::Catalog& catalog, const RunChoice& choice) {
  const auto list = catalog.discarded(choice.run.id);
  const bool deleted = std::ranges::any_of(list, [&](const store::DiscardedCheckpoint& discarded) {
    const store::CheckpointKey& key = discarded.info.key;
    return !discarded.collected_us && key.kind == CheckpointKind::saved && key.loop == choice.saved;
  });
  if (!deleted) return {};
  return fmt::format(": it was deleted, `flor keep {}@{} --undo` brings it back",
                     short_key(choice.run), choice.saved);
}

CheckpointInfo Export::choose(const store::Catalog& catalog, const RunChoice& choice) const {
  const auto loops = catalog.main_loops(choice.run.id);
  if (!choice.saved.empty()) {
    const auto list = catalog.checkpoints(choice.run.id);
    const auto saved = std::ranges::find_if(list, [&](const CheckpointInfo& info) {
      return info.key.kind == CheckpointKind::saved && info.key.loop == choice.saved;
    });
    if (saved != list.end()) return *saved;
    throw NotFound(fmt::format("run {} has no checkpoint '{}' any more{}", title(choice.run),
                               printable(choice.saved), deleted_text(catalog, choice)));
  }
  const auto kind = loop_.empty() ? CheckpointKind::boundary : CheckpointKind::loop_end;
  // By place: what was brought back, or made by a clock that jumped, is listed out of turn.
  const auto place = [](const CheckpointInfo& info) {
    return std::pair(info.key.main_loop, info.key.iteration);
  };
  std::optional<CheckpointInfo> best;
  std::set<std::int64_t> stored;
  for (const CheckpointInfo& info : catalog.checkpoints(choice.run.id)) {
    if (info.key.kind != kind || info.key.loop != loop_) continue;
    // A boundary before the first iteration of a main loop belongs to no epoch of that loop.
    const bool entry = kind == CheckpointKind::boundary && info.key.iteration == 0;
    if (choice.epoch && entry) continue;
    const std::int64_t epoch = epoch_of(loops, info.key);
    const bool wanted = !choice.epoch || epoch == *choice.epoch;
    if (wanted && (!best || place(*best) <= place(info))) best = info;
    if (!entry) stored.insert(epoch);
  }
  if (best) return *best;
  throw_none(catalog, choice, fmt::format("{}", fmt::join(stored, ", ")));
}

void Export::throw_none(const store::Catalog& catalog, const RunChoice& choice,
                        const std::string& listed) const {
  std::string stored = listed;
  constexpr std::size_t kListed = 200;
  if (stored.size() > kListed)
    stored.replace(stored.rfind(',', kListed), std::string::npos, ", ...");
  const std::string place =
      loop_.empty() ? "" : fmt::format(" at the end of '{}'", printable(loop_));
  const std::string deleted =
      choice.epoch ? store::way_back(catalog, choice.run, *choice.epoch, loop_) : "";
  if (!deleted.empty()) {
    throw NotFound(fmt::format("run {} has no checkpoint after epoch {}{} any more: {}",
                               title(choice.run), *choice.epoch, place, deleted));
  }
  if (stored.empty()) {
    throw NotFound(fmt::format("run {} has no checkpoint{}: see 'flor show {}'", title(choice.run),
                               place, short_key(choice.run)));
  }
  throw NotFound(fmt::format("run {} has no checkpoint after epoch {}{}: there are those of {}",
                             title(choice.run), choice.epoch.value_or(0), place, stored));
}

int Export::export_one_checkpoint(Context& context) {
  const std::filesystem::path file(output_);
  check_export_name(file);
  const RunChoice choice = parse_run(context, words_.front());
  const CheckpointInfo info = choose(context.catalog(), choice);
  const std::int64_t epoch = epoch_of(context.catalog().main_loops(choice.run.id), info.key);
  const auto [report, modules] =
      export_checkpoint(context.store(), info.id, file,
                        {.run = choice.run.key,
                         .experiment = choice.run.start.experiment,
                         .commit = choice.run.start.commit,
                         .epoch = epoch,
                         .loop = choice.saved.empty() ? info.key.loop : "",
                         .saved = choice.saved,
                         .digest = info.digest.hex()},
                        object_);
  if (context.json()) {
    Json result = document("export");
    result["run"] = choice.run.key;
    result["epoch"] = epoch;
    result["loop"] = json_text(choice.saved.empty() ? info.key.loop : "");
    result["saved"] = json_text(choice.saved);
    result["digest"] = info.digest.hex();
    result["file"] = output_;
    result["tensors"] = report.tensors;
    result["others"] = report.others;
    result["bytes"] = report.bytes;
    print(context.out(), result);
    return 0;
  }
  const std::string place = choice.saved.empty() ? fmt::format("after epoch {}", epoch)
                                                 : "saved as " + printable(choice.saved);
  const std::string others = report.others == 0 ? ""
                                                : fmt::format(" and {} other item{}", report.others,
                                                              report.others == 1 ? "" : "s");
  context.out().write(fmt::format("{}: {} tensor{}{} of run {} {}, {}\n", printable(output_),
                                  report.tensors, report.tensors == 1 ? "" : "s", others,
                                  title(choice.run), place, bytes(report.bytes)));
  if (!modules.empty()) {
    context.note(
        fmt::format("several modules are registered: --object NAME writes the state "
                    "dictionary of one, of {}",
                    printable(fmt::format("{}", fmt::join(modules, ", ")))));
  }
  return 0;
}

int Export::export_events(Context& context, const std::vector<store::Run>& runs,
                          const ExportQuestion& question) {
  Json files = Json::array();
  Refusals refusals(context);
  for (const store::Run& run : runs) {
    const std::string what = fmt::format("run {} is not exported", title(run));
    const std::string why = refusals.attempt(
        runs.size(), what, [&] { files.push_back(export_events_of(context, run, question)); });
    if (!why.empty()) files.push_back({{"run", run.key}, {"refused", why}});
  }
  if (context.json()) {
    Json result = document("export");
    result["format"] = "tensorboard";
    result["files"] = std::move(files);
    print(context.out(), result);
  }
  return static_cast<int>(refusals.status());
}

Json Export::export_events_of(Context& context, const store::Run& run,
                              const ExportQuestion& question) {
  const TensorBoardReport report =
      write_event_file(context.store(), run, question, output_, context.now_us());
  if (!context.json()) {
    context.out().write(fmt::format("{}: {} of run {}\n", printable(report.file.string()),
                                    counted(report.events, "event"), title(run)));
    if (report.left_out > 0) {
      context.note(fmt::format("left out of run {}: {} that TensorBoard has no form for",
                               title(run), counted(report.left_out, "value")));
    }
  }
  return {{"run", run.key},
          {"file", report.file.string()},
          {"events", report.events},
          {"left_out", report.left_out}};
}

int Export::export_values(Context& context, Format format) {
  const store::Catalog& catalog = context.catalog();
  const std::vector<store::Run> runs = choose_runs(context, {.words = words_, .where = where_});
  if (!metrics_.empty()) require_metrics(catalog, runs, metrics_, "flor export RUN -m METRIC");
  ExportQuestion question{.metrics = metrics_};
  if (!epochs_.empty()) {
    const EpochRange range = parse_epochs(epochs_);
    question.first_epoch = range.first;
    question.last_epoch = range.last;
  }
  if (!columns_.empty()) {
    question.beside = ColumnsBesideValues(catalog, runs, columns_, context.now_us());
  }
  if (format == Format::tensorboard) return export_events(context, runs, question);
  const RowFormat rows = format == Format::csv    ? RowFormat::csv
                         : format == Format::json ? RowFormat::json
                                                  : RowFormat::jsonl;
  if (output_.empty()) {
    write_value_rows(context.store(), runs, question, rows, context.out());
    return 0;
  }
  OutputFile file(output_);
  const std::int64_t count = write_value_rows(context.store(), runs, question, rows, file.out());
  file.finish();
  if (context.json()) {
    Json result = document("export");
    result["format"] = rows == RowFormat::csv ? "csv" : rows == RowFormat::json ? "json" : "jsonl";
    result["file"] = output_;
    result["values"] = count;
    print(context.out(), result);
    return 0;
  }
  const std::string whose =
      runs.size() == 1 ? "run " + title(runs.front()) : fmt::format("{} runs", runs.size());
  context.out().write(
      fmt::format("{}: {} of {}\n", printable(output_), counted(count, "value"), whose));
  return 0;
}

int Export::run(Context& context) {
  if (!epochs_.empty()) parse_epochs(epochs_);
  const Format format = read_words();
  return format == Format::checkpoint ? export_one_checkpoint(context)
                                      : export_values(context, format);
}

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace flor::cli
