// flor remote: lists, checks and deletes runs in an object store.
#include "remote/remote.h"

#include "choose/keep_options.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "remote/choice.h"
#include "remote/transfer_bar.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using remote::RemoteRun;

class Remote final : public Command {
 public:
  std::string_view name() const override { return "remote"; }
  std::string_view summary() const override {
    return "list, verify or prune runs in an object store";
  }
  std::string_view lesson() const override {
    return R"(ls lists the runs that are in an object store. verify looks whether they are complete there, with
--read-data also whether every byte is what was sent. prune deletes checkpoints there by the rules of
flor keep (those of the program itself, if none are given), then everything that no run refers to.
Content that no run refers to any more stays for the time of --grace, since a spool may be running.

Examples:
  flor remote ls file:///mnt/archive
  flor remote verify file:///mnt/archive --read-data
  flor remote prune file:///mnt/archive linear --last 2 --best 3:loss:min --dry-run
  flor remote prune file:///mnt/archive 3f2a --whole-runs
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("ls|verify|prune", action_, "the action", true);
    syntax.operand("URL", url_, "where", true);
    syntax.operand("NAME|RUN", run_, "these runs; all, if it is left out", false);
    syntax.flag("--read-data", read_data_, "verify every byte");
    syntax.option("--last", "N", keep_.last, "prune, but keep the newest N checkpoints of a run");
    syntax.option("--best", "RULE", keep_.best, "prune, but keep N:METRIC:min or N:METRIC:max");
    syntax.option("--every", "N", keep_.every, "prune, but keep each N-th epoch");
    syntax.flag("--unscored", keep_.unscored,
                "prune, but keep what --best's metric does not score");
    syntax.option("--under", "SIZE", keep_.under,
                  "prune the worst of the kept ones, too, until they fit");
    syntax.flag("--newer", keep_.newer, "prune the older of equal values, not the newer");
    syntax.flag("--whole-runs", whole_runs_, "remove whole runs, not only checkpoints");
    syntax.option("--grace", "TIME", grace_,
                  "prune only what has not been needed for TIME (default 24h)");
    syntax.flag("--dry-run", dry_run_, "show what prune would do, and change nothing");
    syntax.option("--transfers", "N", transfers_, "run N transfers at once (default 8)");
    syntax.other_name("--threads", "use --transfers N");
    syntax.other_name("-n", "use --dry-run");
  }
  int run(Context& context) override {
    objects_ = remote::open_objects(url_);
    const unsigned threads = parse_transfers(transfers_);
    check_options();
    if (action_ == "prune") return prune(context, threads);
    const remote::RunList there =
        runs_in(*objects_, threads,
                action_ == "ls" ? remote::RunsFrom::listing : remote::RunsFrom::manifests);
    const std::vector<RemoteRun> runs =
        run_.empty() ? there.runs : choose_remote(there, run_, objects_->url());
    if (action_ == "ls") {
      list(context, runs);
      return static_cast<int>(run_.empty() ? note_unreadable(context, there) : ExitStatus::done);
    }
    return verify(context, runs, run_.empty() ? there.unreadable : decltype(there.unreadable)(),
                  threads);
  }

 private:
  void check_options() const;
  void list(Context& context, const std::vector<RemoteRun>& runs) const;
  int verify(Context& context, const std::vector<RemoteRun>& runs,
             const std::vector<remote::UnreadableRun>& unreadable, unsigned threads) const;
  int prune(Context& context, unsigned threads) const;
  std::vector<RemoteRun> runs_to_prune(unsigned threads) const;

  std::string action_, url_, run_, grace_ = "24h";
  bool read_data_ = false, whole_runs_ = false, dry_run_ = false;
  KeepOptions keep_;
  std::optional<std::uint64_t> transfers_;
  std::unique_ptr<remote::ObjectStore> objects_;
};

void Remote::check_options() const {
  const bool has_rules = !parse_rules(keep_).empty();
  if (action_ != "ls" && action_ != "verify" && action_ != "prune") {
    throw UsageError(
        fmt::format("no action '{}': flor remote ls, verify or prune", printable(action_)));
  }
  if (action_ != "verify" && read_data_) throw UsageError("--read-data is for flor remote verify");
  if (action_ != "prune" && (has_rules || whole_runs_ || dry_run_)) {
    throw UsageError("rules, --whole-runs and --dry-run are for flor remote prune");
  }
  if (whole_runs_ && has_rules) {
    throw UsageError("--whole-runs keeps no checkpoint: leave the rules out");
  }
  parse_grace(grace_);
  if (whole_runs_ && run_.empty()) {
    throw UsageError("--whole-runs wants to know which: name a run, or an experiment");
  }
}

void Remote::list(Context& context, const std::vector<RemoteRun>& runs) const {
  if (context.json()) {
    Json result = document("remote ls");
    result["url"] = objects_->url();
    result["runs"] = Json::array();
    for (const RemoteRun& run : runs) {
      Json entry;
      entry["run"] = run.key;
      entry["name"] = json_text(run.experiment);
      entry["state"] = run.state;
      entry["started"] = json_time(run.started_us);
      entry["spooled"] = json_time(run.spooled_us);
      entry["epochs"] = run.epochs;
      entry["checkpoints"] = run.checkpoints;
      entry["raw_bytes"] = run.raw_bytes;
      entry["stored_bytes"] = run.stored_bytes;
      entry["rank"] = run.world > 1 ? Json(run.rank) : Json();
      entry["world"] = run.world > 1 ? Json(run.world) : Json();
      result["runs"].push_back(std::move(entry));
    }
    print(context.out(), result);
    return;
  }
  Table table({{"run"},
               {"name"},
               {"state"},
               {"epochs", Align::right},
               {"checkpoints", Align::right},
               {"raw", Align::right},
               {"stored", Align::right},
               {"started"},
               {"spooled"}});
  for (const RemoteRun& run : runs) {
    table.add(run.key.substr(0, 8));
    table.add(run.world > 1 ? fmt::format("{}, rank {} of {}", run.experiment, run.rank, run.world)
                            : run.experiment);
    table.add(run.state);
    table.add(std::to_string(run.epochs));
    table.add(std::to_string(run.checkpoints));
    table.add(bytes(run.raw_bytes));
    table.add(bytes(run.stored_bytes));
    table.add(relative(run.started_us, context.now_us()));
    table.add(relative(run.spooled_us, context.now_us()));
  }
  table.print(context.out(), context.style());
}

int Remote::verify(Context& context, const std::vector<RemoteRun>& runs,
                   const std::vector<remote::UnreadableRun>& unreadable, unsigned threads) const {
  TransferBar bar("reading");
  remote::TransferOptions options;
  options.threads = threads;
  options.progress = [&](const remote::TransferProgress& progress) { bar.show(progress); };
  remote::VerifyReport report = remote::verify(*objects_, runs, read_data_, options);
  for (const remote::UnreadableRun& run : unreadable) report.findings.push_back(run.why);
  bar.clear();
  if (context.json()) {
    Json result = document("remote verify");
    result["url"] = objects_->url();
    result["read_data"] = read_data_;
    result["runs"] = report.runs;
    result["parcels"] = report.parcels;
    result["chunks"] = report.chunks;
    result["bytes"] = report.bytes;
    result["bytes_read"] = report.bytes_read;
    result["findings"] = report.findings;
    print(context.out(), result);
  } else {
    for (const std::string& finding : report.findings) {
      context.out().write(fmt::format("damaged: {}\n", printable(finding)));
    }
    context.out().write(fmt::format(
        "{}, {}, {}, {}{}: {}\n", counted(report.runs, "run"), counted(report.parcels, "parcel"),
        counted(report.chunks, "chunk"), bytes(report.bytes), read_data_ ? ", all of it read" : "",
        report.findings.empty()
            ? "sound"
            : counted(static_cast<std::int64_t>(report.findings.size()), "finding")));
  }
  return static_cast<int>(report.findings.empty() ? ExitStatus::done : ExitStatus::damaged);
}

/// The runs to prune. Includes runs whose manifests cannot be read, since their names are enough to
/// delete them.
std::vector<RemoteRun> Remote::runs_to_prune(unsigned threads) const {
  const remote::RunList there = remote::list_runs(*objects_, threads);
  if (run_.empty()) return there.runs;
  try {
    return choose_remote(there, run_, objects_->url());
  } catch (const Damaged&) {
    if (!whole_runs_) throw;
  }
  std::vector<RemoteRun> given_up;
  for (const remote::UnreadableRun& run : there.unreadable) {
    if (run.key.starts_with(run_)) given_up.emplace_back().key = run.key;
  }
  if (given_up.size() > 1) {
    throw UsageError(fmt::format("'{}' is the beginning of {} runs: give more digits",
                                 printable(run_), given_up.size()));
  }
  return given_up;
}

int Remote::prune(Context& context, unsigned threads) const {
  remote::PruneOptions options;
  const store::KeepRules rules = parse_rules(keep_);
  if (!rules.empty()) options.rules = rules;
  options.whole_runs = whole_runs_;
  options.grace_us = parse_grace(grace_);
  options.dry_run = dry_run_;
  options.threads = threads;
  const remote::PruneReport report = remote::prune(*objects_, runs_to_prune(threads), options);
  const ExitStatus status = report.damaged                             ? ExitStatus::damaged
                            : !report.findings.empty() || !report.fits ? ExitStatus::partly_done
                                                                       : ExitStatus::done;
  if (context.json()) {
    Json result = document("remote prune");
    result["url"] = objects_->url();
    result["dry_run"] = dry_run_;
    result["runs_removed"] = report.runs_removed;
    result["checkpoints"] = report.checkpoints;
    result["objects_removed"] = report.objects_removed;
    result["freed_bytes"] = report.freed;
    result["waiting"] = report.waiting;
    result["waiting_bytes"] = report.waiting_bytes;
    result["unfinished"] = report.unfinished;
    result["fits"] = report.fits;
    result["findings"] = report.findings;
    print(context.out(), result);
    return static_cast<int>(status);
  }
  Output& out = context.out();
  out.write(fmt::format("{} {} and {}\n", dry_run_ ? "would delete" : "deleted",
                        counted(report.runs_removed, "run"),
                        counted(report.checkpoints, "checkpoint")));
  out.write(fmt::format("{} {}, {}\n", dry_run_ ? "would remove" : "removed",
                        counted(report.objects_removed, "object"), bytes(report.freed)));
  if (report.waiting > 0) {
    out.write(fmt::format("{}, {}, {} when no run refers to {} {} later: prune again then\n",
                          counted(report.waiting, "object"), bytes(report.waiting_bytes),
                          report.waiting == 1 ? "goes" : "go", report.waiting == 1 ? "it" : "them",
                          grace_));
  }
  for (const std::string& finding : report.findings) context.note(finding);
  if (!report.fits) context.note(fmt::format("what must stay is not under {}", keep_.under));
  return static_cast<int>(status);
}

}  // namespace

std::unique_ptr<Command> make_remote() { return std::make_unique<Remote>(); }

}  // namespace flor::cli
