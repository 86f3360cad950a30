// flor log: lists the versions of an experiment and what changed between them.
#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "hindsight/version_choice.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
#include "view/sources.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace flor::cli {
namespace {

/// The changes since the version before; nullopt if they are unknown.
struct VersionStep {
  std::optional<git::CommitInfo> info;
  std::optional<std::vector<git::FileChange>> changes;
  std::string patch;
};

class Log final : public Command {
 public:
  std::string_view name() const override { return "log"; }
  std::string_view summary() const override {
    return "list versions of an experiment and their changes";
  }
  std::string_view lesson() const override {
    return R"(A version is a recorded commit of the sources (they lie on the branch flor.shadow); each is shown
with its runs and with what changed since the version before it, newest first.

Examples:
  flor log linear              which versions there are
  flor log linear --patch      with the changes, line by line
  flor log linear -n 1 -p      what the newest version changed
  flor log linear --where 'accuracy>0.9'   versions with such runs
  flor log linear --graph      how the versions hang together with your own commits
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME", experiment_, "the experiment; the one last recorded here if left out",
                   false);
    syntax.flag("-g,--graph", graph_,
                "draw the versions, their runs and the commits they began at");
    syntax.flag("-p,--patch", patch_, "show what changed in the sources, line by line");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.option("-n,--limit", "N", limit_, "show at most N versions");
  }
  int run(Context& context) override;

 private:
  VersionStep step(Sources& sources, const VersionRuns& version, const VersionRuns* before) const;
  void print_text(Context& context, const VersionRuns& version, const VersionRuns* before,
                  const VersionStep& step) const;
  void print_graph(Context& context, const VersionRuns& version, const VersionRuns* before,
                   const VersionStep& step, Sources& sources) const;
  Json version_json(const VersionRuns& version, const VersionRuns* before,
                    const VersionStep& step) const;

  std::string experiment_;
  std::vector<std::string> where_;
  bool patch_ = false, graph_ = false;
  std::set<std::string> recorded_;  // commits of all recorded versions, for the graph
  std::optional<std::uint64_t> limit_;
};

VersionStep Log::step(Sources& sources, const VersionRuns& version,
                      const VersionRuns* before) const {
  VersionStep result;
  if (version.commit.empty()) return result;
  std::vector<std::string> commits{version.commit};
  if (before && !before->commit.empty()) commits.push_back(before->commit);
  const git::Repository* repository = sources.find(version.runs.front(), commits);
  if (!repository) return result;
  result.info = repository->commit(version.commit);
  if (before && before->commit.empty()) return result;
  const std::string from = before ? before->commit : std::string();
  result.changes = repository->changes(from, version.commit);
  if (patch_) result.patch = repository->diff(from, version.commit);
  return result;
}

void Log::print_text(Context& context, const VersionRuns& version, const VersionRuns* before,
                     const VersionStep& step) const {
  Output& out = context.out();
  const std::string head =
      version.commit.empty() ? "no commit (recorded without git)" : "commit " + version.commit;
  out.write(context.style().paint(Tone::warning, printable(head)) + "\n");
  if (step.info) {
    const std::int64_t time_us = step.info->time_s * 1'000'000;
    out.write(fmt::format("  {}, {}\n", printable(step.info->summary),
                          relative(time_us, context.now_us())));
  }
  Table runs({{""}, {""}, {""}, {"", Align::right}}, Table::Header::hidden);
  for (const store::Run& run : version.runs) {
    runs.add("run " + short_key(run));
    runs.add(relative(run.start.started_us, context.now_us()));
    runs.add(status_text(run), status_tone(run));
    runs.add(fmt::format("{} epoch{}", run.epochs, run.epochs == 1 ? "" : "s"));
  }
  runs.print(out, context.style(), 2);
  if (!step.changes) return;
  out.write(fmt::format("  {}: {}\n",
                        before ? "changed since " + short_commit(before->commit) : "first version",
                        change_summary(*step.changes)));
  if (patch_) {
    out.write("\n");
    print_patch(context, step.patch);
  } else if (before) {
    changes_table(*step.changes).print(out, context.style(), 4);
  }
}

/// Prints a version with its runs and, for the graph, the user's own commits that it is based on.
void Log::print_graph(Context& context, const VersionRuns& version, const VersionRuns* before,
                      const VersionStep& step, Sources& sources) const {
  Output& out = context.out();
  const Style& style = context.style();
  out.write(fmt::format("* {}", style.paint(Tone::warning, short_commit(version.commit))));
  if (step.info) {
    out.write(fmt::format("  {}, {}", printable(step.info->summary),
                          relative(step.info->time_s * 1'000'000, context.now_us())));
  }
  out.write("\n");
  const char* edge = before ? "|  " : "   ";
  if (step.changes && before)
    out.write(fmt::format("{} {}\n", edge, change_summary(*step.changes)));
  for (const store::Run& run : version.runs) {
    const Field metrics = builtin_column("metrics")->field(
        {run, context.catalog().metrics(run.id), {}}, context.now_us());
    out.write(fmt::format("{} run {}  {}  {}  {}\n", edge, short_key(run),
                          style.paint(status_tone(run), status_text(run)),
                          relative(run.start.started_us, context.now_us()),
                          printable(metrics.text)));
  }
  if (!step.info) return;
  bool direct = !before;
  const git::Repository* repository = sources.find(version.runs.front(), {version.commit});
  for (const std::string& parent : step.info->parents) {
    direct = direct || parent == before->commit;
    const auto info = repository ? repository->commit(parent) : std::nullopt;
    if (!info || recorded_.contains(parent)) continue;
    out.write(before ? "|\\\n| " : "|\n");
    out.write(fmt::format("o {}  {}\n", short_commit(parent), printable(info->summary)));
    if (before) out.write("|/\n");
  }
  if (!direct) out.write(":  versions of other experiments\n");
}

Json Log::version_json(const VersionRuns& version, const VersionRuns* before,
                       const VersionStep& step) const {
  Json runs = Json::array();
  for (const store::Run& run : version.runs) {
    runs.push_back({{"id", run.key},
                    {"started", json_time(run.start.started_us)},
                    {"status", std::string(store::to_string(run.state))},
                    {"epochs", run.epochs}});
  }
  Json result = {
      {"commit", json_text(version.commit)},
      {"summary", step.info ? Json(step.info->summary) : Json(nullptr)},
      {"parents", step.info ? Json(step.info->parents) : Json(nullptr)},
      {"committed", step.info ? json_time(step.info->time_s * 1'000'000) : Json(nullptr)},
      {"runs", std::move(runs)},
      {"previous", before ? json_text(before->commit) : Json(nullptr)},
      {"changes", step.changes ? changes_json(*step.changes) : Json(nullptr)}};
  if (patch_) result["patch"] = step.changes ? Json(step.patch) : Json(nullptr);
  return result;
}

int Log::run(Context& context) {
  const store::Catalog& catalog = context.catalog();
  const std::string name =
      experiment_.empty() ? default_run(catalog).start.experiment : experiment_;
  const std::vector<VersionRuns> all =
      versions_where(catalog, versions_of(catalog, name), where_, context.now_us());
  if (all.empty()) none_meets(where_);
  if (graph_) {
    for (const store::Run& run : catalog.runs({}, SIZE_MAX, store::RunDetail::summary)) {
      recorded_.insert(run.start.commit);
    }
  }
  Sources sources(context);
  Json head = document("log");
  head["experiment"] = name;
  std::optional<JsonList> list;
  if (context.json()) list.emplace(context.out(), head, "versions");
  const std::size_t count = std::min<std::size_t>(all.size(), limit_.value_or(all.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const VersionRuns* before = i + 1 < all.size() ? &all[i + 1] : nullptr;
    const VersionStep changes = step(sources, all[i], before);
    if (list) {
      list->add(version_json(all[i], before, changes));
    } else if (graph_) {
      print_graph(context, all[i], before, changes, sources);
    } else {
      if (i > 0) context.out().write("\n");
      print_text(context, all[i], before, changes);
    }
  }
  if (list) list->end();
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_log() { return std::make_unique<Log>(); }

}  // namespace flor::cli
