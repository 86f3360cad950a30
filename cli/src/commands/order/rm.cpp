// flor rm: removes runs, and brings them back.
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "retention/removal.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

class Rm final : public Command {
 public:
  std::string_view name() const override { return "rm"; }
  std::string_view summary() const override { return "remove runs"; }
  std::string_view lesson() const override {
    return R"(A removed run is in no list and no choice any more, and neither are the other ranks of its group. It
comes back with --undo until the next `flor gc`, which frees what no other run needs. Runs that were
forked from it keep what they have, and so do copies in object stores. A run that is being recorded,
replayed or evaluated is refused.

Examples:
  flor rm linear~2 --dry-run                    what it would free
  flor rm linear~2                              remove it
  flor rm linear --where 'status=failed'        all failed runs of linear
  flor list --removed                           the runs that can come back
  flor rm 3f2a91c4 --undo                       bring one back
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("RUN", words_, "the runs; with --where NAME, too, for all runs of that name");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr>0.01 and epochs=8'");
    syntax.flag("--dry-run", dry_run_, "show what would be done, and change nothing");
    syntax.flag("-u,--undo", undo_, "bring removed runs back");
    syntax.other_name("-n", "use --dry-run");
    syntax.other_name("-r", "leave it out: a run is removed as a whole");
    syntax.other_name("-f", "leave it out: there is no question to answer");
  }
  int run(Context& context) override {
    if (words_.empty() && where_.empty()) {
      throw UsageError("flor rm needs RUN: flor rm [OPTIONS] RUN...");
    }
    return undo_ ? undo(context) : remove(context);
  }

 private:
  int undo(Context& context) const;
  int remove(Context& context) const;
  void print_text(Context& context, const std::vector<store::Run>& runs,
                  const store::RemovalReport& report) const;

  std::vector<std::string> words_, where_;
  bool dry_run_ = false, undo_ = false;
};

/// Removes all but one run of each group.
void leave_out_ranks(std::vector<store::Run>& runs) {
  std::vector<std::int64_t> groups;
  std::erase_if(runs, [&](const store::Run& run) {
    if (!run.start.rank) return false;
    const bool known = std::ranges::find(groups, run.start.rank->group) != groups.end();
    groups.push_back(run.start.rank->group);
    return known;
  });
}

int Rm::undo(Context& context) const {
  if (!where_.empty() || dry_run_ || words_.empty()) {
    throw UsageError("--undo takes removed runs by their ids: flor list --removed shows them");
  }
  std::vector<store::Run> runs;
  for (const std::string& word : words_) {
    runs.push_back(context.catalog().resolve(word, store::RunPresence::removed));
  }
  leave_out_ranks(runs);
  for (const store::Run& run : runs) {
    store::bring_back(context.store_to_change(), run.id);
    if (!context.json()) context.out().write(fmt::format("run {} is back\n", title(run)));
  }
  if (context.json()) {
    Json result = document("rm");
    result["undo"] = true;
    result["runs"] = Json::array();
    for (const store::Run& run : runs) result["runs"].push_back(run.key);
    print(context.out(), result);
  }
  return 0;
}

int Rm::remove(Context& context) const {
  std::vector<store::Run> runs = choose_runs(context, {.words = words_, .where = where_});
  leave_out_ranks(runs);
  std::vector<std::int64_t> ids;
  for (const store::Run& run : runs) ids.push_back(run.id);
  const store::RemovalReport report = store::plan_removal(context.store(), ids);
  if (!dry_run_) store::remove_runs(context.store_to_change(), ids);
  if (context.json()) {
    Json result = document("rm");
    result["dry_run"] = dry_run_;
    result["runs"] = Json::array();
    for (const store::Run& run : runs) result["runs"].push_back(run.key);
    result["ranks"] = report.runs;
    result["checkpoints"] = report.checkpoints;
    result["freed_bytes"] = report.freed;
    print(context.out(), result);
  } else {
    print_text(context, runs, report);
  }
  return 0;
}

void Rm::print_text(Context& context, const std::vector<store::Run>& runs,
                    const store::RemovalReport& report) const {
  Output& out = context.out();
  for (const store::Run& run : runs) {
    const std::size_t forks = context.catalog().forks_of(run.key).size();
    out.write(fmt::format(
        "run {}{}{}\n", title(run), dry_run_ ? " would be removed" : " is removed",
        forks == 0   ? ""
        : forks == 1 ? "; the run that was forked from it stays"
                     : fmt::format("; the {} runs that were forked from it stay", forks)));
  }
  const std::string them = runs.size() == 1 ? "it" : "them";
  out.write(fmt::format("{} of {} {} free at the next flor gc{}\n", bytes(report.freed),
                        counted(report.checkpoints, "checkpoint"),
                        dry_run_ ? "would come" : "come",
                        dry_run_ ? ""
                                 : fmt::format("; until then flor rm {} --undo brings {} back",
                                               runs.size() == 1 ? short_key(runs.front()) : "RUN",
                                               them)));
}

}  // namespace

std::unique_ptr<Command> make_rm() { return std::make_unique<Rm>(); }

}  // namespace flor::cli
