// flor import: makes runs of files of other programs: logs, and .safetensors files.
#include "checkpoint/transfer.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "imports/import_log.h"
#include "imports/log_file.h"
#include "imports/value_word.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace flor::cli {
namespace {

class Import final : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "make runs of logs, or of a checkpoint"; }
  std::string_view lesson() const override {
    return R"(Each log becomes a run: its numbers are values, and a text is what the run printed. Epochs,
steps and times are taken from it as far as it tells them. DIR stands for the event files below
it, those of one directory for one run. A .safetensors file becomes a run with one checkpoint.

Examples:
  flor import slurm-*.out --name mnist --extract 'loss=(\d+\.\d+)' --arg lr=0.01
  flor import metrics.csv steps.jsonl           columns epoch, step and time are found by name
  flor import lightning_logs                    event files of TensorBoard
  flor import model.safetensors --name pretrained
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("FILE|DIR", files_, "text, CSV, JSON lines, event files, or .safetensors");
    syntax.option("--name", "NAME", name_, "name the new runs' experiment (default 'import')");
    syntax.option("--arg", "NAME=VALUE", arguments_,
                  "give the runs this argument; may be repeated");
    syntax.option("--extract", "REGEX", question_.metrics,
                  "find a metric in text, as flor extract; may be repeated");
    syntax.option("--epoch", "COLUMN", question_.epoch,
                  "find the epoch in this column, in text by a REGEX (default: found)");
    syntax.option("--step", "COLUMN", question_.step,
                  "find the step in this column, in text by a REGEX (default: found in tables)");
    syntax.option("--format", "FORMAT", format_,
                  "read text, csv, jsonl, tensorboard or safetensors (default: found)");
    syntax.flag("--again", again_, "make another run of a log that is imported already");
  }
  int run(Context& context) override;

 private:
  /// The outcome for one log.
  struct Done {
    std::string path;
    LogFormat format = LogFormat::text;
    std::string run = {};
    bool is_new = false;
    LoggedRun log = {};
    std::int64_t started_us = 0;
  };

  std::vector<store::Argument> given_arguments() const;
  store::NewRun start(const Context& context, const std::string& file) const;
  int import_checkpoint(Context& context, const std::string& file) const;
  Done import_one(Context& context, ImportedLogs& known, const LogSource& source) const;
  void report(Context& context, const Done& done) const;
  static Json json_of(const Done& done);
  void refuse_idle_options(const std::vector<LogSource>& sources) const;
  int import_logs(Context& context, const std::vector<LogSource>& sources) const;

  std::vector<std::string> files_, arguments_;
  std::string name_ = "import", format_;
  LogQuestion question_;
  bool again_ = false;
};

std::vector<store::Argument> Import::given_arguments() const {
  std::vector<store::Argument> arguments;
  for (const std::string& given : arguments_) {
    const std::size_t equals = given.find('=');
    if (equals == given.npos || equals == 0) {
      throw UsageError(fmt::format("--arg '{}': write NAME=VALUE, as lr=0.01", printable(given)));
    }
    set_argument(arguments, argument_word(given.substr(0, equals), given.substr(equals + 1)));
  }
  return arguments;
}

store::NewRun Import::start(const Context& context, const std::string& file) const {
  store::NewRun start;
  start.experiment = name_;
  start.started_us = context.now_us();
  std::error_code unknown;
  start.directory = std::filesystem::current_path(unknown).string();
  std::vector<std::string> command{"flor", "import", file, "--name", name_};
  for (const std::string& regex : question_.metrics)
    command.insert(command.end(), {"--extract", regex});
  start.command = command;
  return start;
}

int Import::import_checkpoint(Context& context, const std::string& file) const {
  const store::Snapshot snapshot = store::read_safetensors(file);
  store::Store& store = context.store_to_change(store::OpenMode::create);
  store::NewRun made = start(context, file);
  made.repository = made.directory;
  const auto [run, info] = store::import_snapshot(store, made, file, snapshot);
  if (context.json()) {
    Json result = document("import");
    result["run"] = run.key;
    result["experiment"] = name_;
    result["items"] = snapshot.items.size();
    result["digest"] = info.digest.hex();
    result["raw_bytes"] = info.raw_bytes;
    result["stored_bytes"] = info.stored_bytes;
    print(context.out(), result);
    return 0;
  }
  context.out().write(fmt::format("run {}: {} items, {}, {} added to the store\n", title(run),
                                  snapshot.items.size(), bytes(info.raw_bytes),
                                  bytes(info.stored_bytes)));
  return 0;
}

Import::Done Import::import_one(Context& context, ImportedLogs& known,
                                const LogSource& source) const {
  Done done{.path = source.path.string(), .format = source.format};
  const std::string digest = digest_of_log(source).hex();
  const ImportedLogs::Known* before = known.run_of(digest);
  if (before && before->is_whole && !again_) {
    done.run = before->run;
    return done;
  }
  if (before && !before->is_whole) {
    const std::string key = before->run.substr(0, 8);
    context.note(fmt::format(
        "run {} has a part of {} alone, as its import did not end: flor rm {} removes it", key,
        printable(done.path), key));
  }
  done.log = read_log(source, question_);
  if (done.log.values() == 0 && done.log.printed.empty()) {
    throw UsageError(fmt::format("{} has nothing to import", printable(done.path)));
  }
  for (const store::Argument& argument : given_arguments()) {
    set_argument(done.log.arguments, argument);
  }
  store::NewRun made = start(context, done.path);
  done.started_us = done.log.first_us ? *done.log.first_us : time_of_change(source);
  made.started_us = done.started_us;
  store::Store& store = context.store_to_change(store::OpenMode::create);
  done.run = import_log(store, made, source.path, digest, done.log, context.now_us()).key;
  done.is_new = true;
  known.note(digest, done.run);
  return done;
}

void Import::report(Context& context, const Done& done) const {
  const std::string file = printable(done.path);
  for (const std::string& remark : done.log.remarks) context.note(remark);
  if (!done.is_new) {
    context.out().write(fmt::format("{} is run {} already; --again makes another run of it\n", file,
                                    done.run.substr(0, 8)));
    return;
  }
  std::string text =
      fmt::format("run {} ({}): {}: {} of {}", done.run.substr(0, 8), printable(name_), file,
                  counted(static_cast<std::int64_t>(done.log.values()), "value"),
                  counted(std::ssize(done.log.all_series()), "metric"));
  if (!done.log.epochs().empty()) {
    text += fmt::format(" in {}", counted(std::ssize(done.log.epochs()), "epoch"));
  }
  if (done.log.lines > 0) text += fmt::format(", {}", counted(done.log.lines, "line"));
  context.out().write(text + "\n");
  if (!done.log.first_us) {
    context.note(
        fmt::format("{} tells no time: the run begins when the file was last changed", file));
  }
  if (done.format == LogFormat::text && done.log.values() == 0) {
    context.note(
        fmt::format("the text is kept: flor extract {} 'loss=(\\d+\\.\\d+)' makes a metric "
                    "of its numbers",
                    done.run.substr(0, 8)));
  }
}

Json Import::json_of(const Done& done) {
  return {{"run", done.run},
          {"new", done.is_new},
          {"file", done.path},
          {"format", std::string(to_string(done.format))},
          {"metrics", done.log.all_series().size()},
          {"values", done.log.values()},
          {"epochs", done.log.epochs().size()},
          {"lines", done.log.lines},
          {"started", done.is_new ? json_time(done.started_us) : Json()},
          {"remarks", done.log.remarks}};
}

/// An option that has nothing to do in any of the logs was meant for something else.
void Import::refuse_idle_options(const std::vector<LogSource>& sources) const {
  const auto all_lack = [&](auto&& lacks) {
    return std::ranges::all_of(sources, [&](const LogSource& one) { return lacks(one.format); });
  };
  const std::string file = printable(sources.front().path.string());
  const auto is_no_text = [](LogFormat format) { return format != LogFormat::text; };
  if (!question_.metrics.empty() && all_lack(is_no_text)) {
    throw UsageError(
        fmt::format("--extract asks texts, and {} is read as {}: --format text reads it "
                    "as one",
                    file, to_string(sources.front().format)));
  }
  const auto has_steps = [](LogFormat format) { return format == LogFormat::tensorboard; };
  if ((!question_.epoch.empty() || !question_.step.empty()) && all_lack(has_steps)) {
    throw UsageError(
        fmt::format("{} is an event file, which has the steps of its values: leave "
                    "--epoch and --step out",
                    file));
  }
}

/// A log that cannot be imported does not keep the others from it.
int Import::import_logs(Context& context, const std::vector<LogSource>& sources) const {
  store::Store& store = context.store_to_change(store::OpenMode::create);
  ImportedLogs known(store.catalog());
  Json runs = Json::array();
  std::size_t failed = 0;
  for (const LogSource& source : sources) {
    try {
      const Done done = import_one(context, known, source);
      if (context.json()) {
        runs.push_back(json_of(done));
      } else {
        report(context, done);
      }
    } catch (const Error& error) {
      if (sources.size() == 1) throw;
      context.note(error.what());
      ++failed;
    }
  }
  if (context.json()) {
    Json result = document("import");
    result["experiment"] = name_;
    result["runs"] = std::move(runs);
    print(context.out(), result);
  }
  if (failed == 0) return 0;
  return static_cast<int>(failed == sources.size() ? ExitStatus::failed : ExitStatus::partly_done);
}

int Import::run(Context& context) {
  if (name_.empty()) throw UsageError("--name needs a name that is not empty");
  if (files_.empty())
    throw UsageError("flor import needs FILE|DIR: flor import [OPTIONS] FILE|DIR...");
  (void)given_arguments();  // a wrong one is said before anything is read
  const std::optional<LogFormat> format =
      format_.empty() ? std::nullopt : std::optional(parse_log_format(format_));
  const std::vector<LogSource> sources = find_logs(files_, format);
  const auto is_checkpoint = [](const LogSource& source) {
    return source.format == LogFormat::safetensors;
  };
  if (std::ranges::none_of(sources, is_checkpoint)) {
    refuse_idle_options(sources);
    return import_logs(context, sources);
  }
  if (sources.size() > 1) throw UsageError("import a .safetensors file alone");
  if (!arguments_.empty() || !question_.metrics.empty() || again_ || !question_.epoch.empty() ||
      !question_.step.empty()) {
    throw UsageError("a .safetensors file is no log: it takes --name alone");
  }
  return import_checkpoint(context, files_.front());
}

}  // namespace

std::unique_ptr<Command> make_import() { return std::make_unique<Import>(); }

}  // namespace flor::cli
