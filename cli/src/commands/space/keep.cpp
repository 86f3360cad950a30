// flor keep: deletes the checkpoints of a run that no rule keeps, and brings them back.
#include "choose/keep_options.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "hindsight/walks.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "retention/retention.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::RetainedUnit, store::RetentionReport;

class Keep final : public Command {
 public:
  std::string_view name() const override { return "keep"; }
  std::string_view summary() const override { return "keep the best and the last checkpoints"; }
  std::string_view lesson() const override {
    return R"(Deletes the checkpoints of a run, but those that one of the rules keeps. What is deleted takes its
space until the next `flor gc`, and comes back with --undo until then. Replays compute it again, and
so does RUN@EPOCH --undo, which stores it only if its digest is the recorded one.
The best is never deleted, nor what a run needs that may be resumed. Without rules: those that the
program itself has set. docs/checkpoints.md says more.

Examples:
  flor keep linear --last 2 --best 3:loss:min --dry-run     what would go, and why the rest stays
  flor keep linear --last 2 --best 3:loss:min               do it
  flor keep linear --every 10 --under 20GiB                 the worst of them go if it is too much
  flor keep linear --undo                                   bring back what was deleted
  flor keep linear@7 --undo                                 the same of one epoch
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run; with --undo also RUN@EPOCH", true);
    syntax.option("--last", "N", options_.last, "keep the newest N");
    syntax.option("--best", "RULE", options_.best,
                  "keep the N best, as N:METRIC:min or N:METRIC:max; may be repeated");
    syntax.option("--every", "N", options_.every, "keep each N-th epoch");
    syntax.flag("--unscored", options_.unscored, "keep what has no value of --best's metric yet");
    syntax.option("--under", "SIZE", options_.under,
                  "delete the worst of the kept ones, too, until they fit");
    syntax.flag("--newer", options_.newer, "rank the newer of equal values higher, not the older");
    syntax.flag("--dry-run", dry_run_, "show what would be done, and change nothing");
    syntax.flag("--explain", explain_, "show for each checkpoint why it stays or goes");
    syntax.flag("-u,--undo", undo_, "bring back what was deleted; one epoch also once collected");
    syntax.flag("--trust", trust_,
                "execute commands of a run from elsewhere, and do not ask");
    syntax.other_name("-n", "use --dry-run");
    syntax.other_name("-e", "use --explain");
  }
  int run(Context& context) override {
    if (undo_) return undo(context);
    if (trust_) throw UsageError("--trust belongs to --undo");
    const store::Run run = parse_whole_run(context, run_);
    const store::KeepRules rules = rules_for(context, run);
    const RetentionReport report =
        dry_run_ ? store::plan_retention(context.store(), run.id, rules)
                 : store::retain(context.store_to_change(store::OpenMode::freeing), run.id, rules,
                                 store::Sizes::weighed);
    if (context.json()) {
      print_json(context, run, report);
    } else {
      print_text(context, run, report);
    }
    if (report.left > 0) {
      context.note(fmt::format(
          "{} that no rule keeps: the disk has no room to write down that they go; give it some "
          "with `flor gc`, then give this command again",
          report.left == 1 ? "1 checkpoint stays"
                           : fmt::format("{} checkpoints stay", report.left)));
    }
    const bool whole = report.fits && report.left == 0;
    return static_cast<int>(whole ? ExitStatus::done : ExitStatus::partly_done);
  }

 private:
  store::KeepRules rules_for(Context& context, const store::Run& run) const;
  int undo(Context& context) const;
  int compute(Context& context, const RunChoice& choice, const store::RestoreReport& back) const;
  void print_text(Context& context, const store::Run& run, const RetentionReport& report) const;
  void print_json(Context& context, const store::Run& run, const RetentionReport& report) const;
  void print_table(Context& context, const RetentionReport& report) const;

  std::string run_;
  KeepOptions options_;
  bool dry_run_ = false, explain_ = false, undo_ = false, trust_ = false;
};

std::string name_of(const RetainedUnit& unit) {
  const bool saved = unit.candidate.group == store::Candidate::Group::saved;
  return saved ? fmt::format("saved {}", unit.name)
               : fmt::format("epoch {}", unit.candidate.number);
}

store::KeepRules Keep::rules_for(Context& context, const store::Run& run) const {
  const store::KeepRules rules = parse_rules(options_);
  if (!rules.empty()) return rules;
  const auto strategy = context.catalog().strategy(run.id);
  if (!strategy || !strategy->num_to_keep) {
    throw UsageError(
        fmt::format("run {} has no strategy of its own, so rules are needed: --last N, --best "
                    "N:METRIC:min|max, --every N, --under SIZE",
                    title(run)));
  }
  return store::rules_of(*strategy);
}

int Keep::undo(Context& context) const {
  const RunChoice choice = parse_run(context, run_);
  if (!parse_rules(options_).empty() || dry_run_ || explain_) {
    throw UsageError("--undo stands alone: it brings back what was deleted, by whatever rule");
  }
  const store::RestoreReport report = store::restore_discarded(
      context.store_to_change(), choice.run.id, choice.epoch, choice.saved);
  if (report.collected > 0 && choice.epoch) return compute(context, choice, report);
  if (context.json()) {
    Json result = document("keep");
    result["run"] = choice.run.key;
    result["undo"] = true;
    result["restored"] = report.restored;
    result["collected"] = report.collected;
    print(context.out(), result);
  } else if (report.restored > 0) {
    context.out().write(fmt::format("run {}: {} back\n", title(choice.run),
                                    report.restored == 1
                                        ? "1 checkpoint is"
                                        : fmt::format("{} checkpoints are", report.restored)));
  }
  if (report.collected > 0) {
    const std::string what = fmt::format(
        "run {}: {} collected by flor gc: `flor keep {}@EPOCH --undo` computes those of one epoch "
        "again",
        title(choice.run),
        report.collected == 1 ? "1 deleted checkpoint was"
                              : fmt::format("{} deleted checkpoints were", report.collected),
        short_key(choice.run));
    if (report.restored == 0) throw NotFound(what);
    context.note(what);
    return static_cast<int>(ExitStatus::partly_done);
  }
  if (report.restored == 0) {
    throw NotFound(fmt::format("run {} has no deleted checkpoints{}", title(choice.run),
                               choice.epoch           ? fmt::format(" of epoch {}", *choice.epoch)
                               : choice.saved.empty() ? ""
                                                      : " of that name"));
  }
  return 0;
}

/// Executes the epoch to bring back those of its checkpoints whose content is gone.
int Keep::compute(Context& context, const RunChoice& choice,
                  const store::RestoreReport& back) const {
  const auto again = compute_again(context, choice.run, *choice.epoch, trust_);
  const std::int64_t stored = again ? again->stored : 0;
  if (context.json()) {
    Json result = document("keep");
    result["run"] = choice.run.key;
    result["undo"] = true;
    result["restored"] = back.restored + stored;
    result["computed"] = stored;
    result["collected"] = back.collected - stored;
    result["differences"] = again ? Json(again->replay.summary.differences) : Json::array();
    print(context.out(), result);
  } else {
    for (const std::string& difference :
         again ? again->replay.summary.differences : std::vector<std::string>()) {
      context.out().write(fmt::format("differs: {}\n", printable(difference)));
    }
    context.out().write(fmt::format(
        "run {}: {} of epoch {} back, {} of them computed again and equal to the recorded "
        "digests\n",
        title(choice.run), counted(back.restored + stored, "checkpoint"), *choice.epoch, stored));
  }
  return static_cast<int>(again ? again->replay.status() : ExitStatus::partly_done);
}

void Keep::print_table(Context& context, const RetentionReport& report) const {
  std::vector<Table::Column> columns{{""}, {"checkpoint"}};
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < report.rules.best.size(); ++i) {
    columns.push_back({report.rules.best[i].metric, Align::right});
  }
  columns.push_back({"raw", Align::right});
  columns.push_back({"frees", Align::right});
  columns.push_back({"reason", Align::left, true});
  Table table(std::move(columns));
  for (const RetainedUnit& unit : report.units) {
    const bool kept = unit.decision.kept;
    table.add(kept ? "keep" : "delete", kept ? Tone::plain : Tone::warning);
    table.add(name_of(unit));
    for (const store::Score& score : unit.candidate.scores) {
      table.add(score ? readable(*score) : "-");
    }
    table.add(bytes(unit.raw_bytes));
    table.add(bytes(unit.frees));
    table.add(print_reasons(unit.decision, report.rules));
  }
  table.print(context.out(), context.style());
}

void Keep::print_text(Context& context, const store::Run& run,
                      const RetentionReport& report) const {
  Output& out = context.out();
  if ((dry_run_ || explain_) && !report.units.empty()) {
    print_table(context, report);
    out.write("\n");
  }
  const auto count = static_cast<std::int64_t>(report.units.size());
  out.write(fmt::format(
      "run {}: {} {} of {}, {} {}\n", title(run), dry_run_ ? "would keep" : "keeps", report.kept,
      counted(count, "checkpoint"), dry_run_ ? "delete" : "deleted", report.deleted));
  if (report.deleted > 0) {
    out.write(
        fmt::format("{} of {} come free at the next flor gc; until then flor keep {} --undo "
                    "brings {} back\n",
                    bytes(report.freed), bytes(report.before), short_key(run),
                    report.deleted == 1 ? "it" : "them"));
  }
  if (!report.fits) {
    context.note(fmt::format("what must stay takes {}, which is not under {}", bytes(report.after),
                             bytes(report.rules.under.value_or(0))));
  }
}

void Keep::print_json(Context& context, const store::Run& run,
                      const RetentionReport& report) const {
  Json result = document("keep");
  result["run"] = run.key;
  result["dry_run"] = dry_run_;
  result["kept"] = report.kept;
  result["deleted"] = report.deleted;
  result["left"] = report.left;
  result["fits"] = report.fits;
  result["stored_bytes_before"] = report.before;
  result["stored_bytes"] = report.after;
  result["freed_bytes"] = report.freed;
  result["checkpoints"] = Json::array();
  for (const RetainedUnit& unit : report.units) {
    const bool saved = unit.candidate.group == store::Candidate::Group::saved;
    Json entry;
    entry["epoch"] = saved ? Json() : Json(unit.candidate.number);
    entry["saved"] = json_text(unit.name);
    entry["kept"] = unit.decision.kept;
    entry["reason"] = json_text(print_reasons(unit.decision, report.rules));
    entry["scores"] = Json::object();
    entry["ranks"] = Json::object();
    for (std::size_t i = 0; i < report.rules.best.size(); ++i) {
      const std::string& metric = report.rules.best[i].metric;
      const store::Score& score = unit.candidate.scores[i];
      entry["scores"][metric] = score ? json_number(*score) : Json();
      entry["ranks"][metric] = unit.decision.ranks[i];
    }
    entry["taken"] = json_time(unit.taken_us);
    entry["raw_bytes"] = unit.raw_bytes;
    entry["frees_bytes"] = unit.frees;
    result["checkpoints"].push_back(std::move(entry));
  }
  print(context.out(), result);
}

}  // namespace

std::unique_ptr<Command> make_keep() { return std::make_unique<Keep>(); }

}  // namespace flor::cli
