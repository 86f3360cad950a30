// flor log: the versions of an experiment and what changed between them.
#include "commands/commands.h"
#include "context.h"
#include "facts.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "output/time.h"
#include "run_spec.h"
#include "sources.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

/// The runs that were recorded from the same commit, newest first.
struct Version {
  std::string commit;  ///< empty: recorded without git
  std::vector<store::Run> runs;
};

/// Changes to the version before; absent if they cannot be told.
struct Step {
  std::optional<git::CommitInfo> info;
  std::optional<std::vector<git::FileChange>> changes;
  std::string patch;
};

class Log final : public Command {
 public:
  std::string_view name() const override { return "log"; }
  std::string_view summary() const override {
    return "versions of an experiment and their changes";
  }
  std::string_view lesson() const override {
    return R"(A version is a recorded commit of the sources (they lie on the branch flor.shadow); each is shown
with its runs and with what changed since the version before it, newest first.

Examples:
  flor log linear              which versions there are
  flor log linear --patch      with the changes, line by line
  flor log linear -n 1 -p      what the newest version changed
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME", experiment_, "the experiment; the one last recorded here if left out",
                   false);
    syntax.flag("-p,--patch", patch_, "show the changes line by line");
    syntax.option("-n,--limit", "N", limit_, "at most N versions");
  }
  int run(Context& context) override;

 private:
  std::vector<Version> versions(const store::Catalog& catalog, const std::string& name) const;
  Step step(Sources& sources, const Version& version, const Version* before) const;
  void print_text(Context& context, const Version& version, const Version* before,
                  const Step& step) const;
  Json version_json(const Version& version, const Version* before, const Step& step) const;

  std::string experiment_;
  bool patch_ = false;
  std::optional<std::uint64_t> limit_;
};

std::vector<Version> Log::versions(const store::Catalog& catalog, const std::string& name) const {
  std::vector<Version> result;
  for (store::Run& run : catalog.runs(name)) {
    auto version = std::ranges::find(result, run.start.commit, &Version::commit);
    if (version == result.end()) {
      result.push_back({run.start.commit, {}});
      version = result.end() - 1;
    }
    version->runs.push_back(std::move(run));
  }
  if (!result.empty()) return result;
  const auto known = catalog.experiments();
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", printable(name), hint));
}

Step Log::step(Sources& sources, const Version& version, const Version* before) const {
  Step result;
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

void Log::print_text(Context& context, const Version& version, const Version* before,
                     const Step& step) const {
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

Json Log::version_json(const Version& version, const Version* before, const Step& step) const {
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
  const std::vector<Version> all = versions(catalog, name);
  Sources sources(context);
  Json head = document("log");
  head["experiment"] = name;
  std::optional<JsonList> list;
  if (context.json()) list.emplace(context.out(), head, "versions");
  const std::size_t count = std::min<std::size_t>(all.size(), limit_.value_or(all.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const Version* before = i + 1 < all.size() ? &all[i + 1] : nullptr;
    const Step changes = step(sources, all[i], before);
    if (list) {
      list->add(version_json(all[i], before, changes));
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
