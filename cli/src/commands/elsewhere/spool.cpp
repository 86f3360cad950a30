// flor spool: uploads runs to an object store.
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "remote/choice.h"
#include "remote/remote.h"
#include "remote/transfer_bar.h"
#include "shell/context.h"
#include "shell/refusals.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace flor::cli {
namespace {

class Spool final : public Command {
 public:
  std::string_view name() const override { return "spool"; }
  std::vector<std::string_view> aliases() const override { return {"push"}; }
  std::string_view summary() const override { return "upload runs to an object store"; }
  std::string_view lesson() const override {
    return R"(Copies all runs of NAME, or one run, to an object store: what they recorded, checkpoints included. Only
what is not there is sent; an attempt that was interrupted goes on where it was. Others see a run when
it is complete. May run while the runs are recorded, and in several processes at once.

URL is s3://bucket/prefix or file:///directory. docs/other-machines.md says more.

Examples:
  flor spool linear s3://bucket/prefix           all runs of linear
  flor spool 3f2a file:///mnt/archive            one run
  flor spool linear file:///mnt/archive --follow
                                                 again and again until they have ended
  flor spool linear file:///mnt/archive --delete-local
                                                 then read it back, and free the space here
  flor spool linear file:///mnt/archive --where 'accuracy>0.9'
                                                 only runs for which this holds
  flor spool 3f2a file:///mnt/archive --repair   after flor remote verify has found damage
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME|RUN", run_, "an experiment for all of its runs, or NAME~N or an id", true);
    syntax.operand("URL", url_, "where to", true);
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.flag("--delete-local", delete_local_,
                "read back all of it, then delete the checkpoints here");
    syntax.flag("-f,--follow", follow_, "keep uploading until the runs have ended");
    syntax.flag("--repair", repair_, "read what is there, and send again what is damaged");
    syntax.option("--transfers", "N", transfers_, "run N transfers at once (default 8)");
    syntax.other_name("--threads", "use --transfers N");
    syntax.other_name("--watch", "use --follow");
    syntax.other_name("-w", "use --follow");
  }
  int run(Context& context) override;

 private:
  std::vector<store::Run> choose(const store::Catalog& catalog) const;
  std::vector<store::Run> choose_where(Context& context, const store::Catalog& catalog) const;
  void watch(Context& context, store::Store& opened);
  void spool(Context& context, store::Store& opened, const store::Run& run);
  void delete_local(Context& context, store::Store& opened, const store::Run& run);
  void attempt(const char* what, const store::Run& run, const std::function<void()>& work);
  void print_text(Context& context, const store::Run& run, const remote::SpoolReport& report) const;

  std::string run_, url_;
  std::vector<std::string> where_;
  bool delete_local_ = false, follow_ = false, repair_ = false;
  std::optional<std::uint64_t> transfers_;
  std::optional<Refusals> refusals_;
  std::set<std::int64_t> refused_;  ///< ids of runs
  std::unique_ptr<remote::ObjectStore> objects_;
  std::vector<store::Run> runs_;
  Json results_ = Json::array();
};

/// The chosen runs, the first rank of each group first. NAME means only the runs recorded here.
std::vector<store::Run> Spool::choose(const store::Catalog& catalog) const {
  std::vector<store::Run> runs = catalog.runs(run_);
  const bool is_name = !runs.empty();
  std::erase_if(runs, [](const store::Run& run) { return run.origin.from_elsewhere(); });
  if (is_name && runs.empty()) {
    throw UsageError(fmt::format(
        "all runs called {} were fetched: give the id of the one to send on (flor list {})",
        printable(run_), printable(run_)));
  }
  if (runs.empty()) runs = ranks_with(catalog, parse_whole_run(catalog, run_));
  std::ranges::stable_sort(
      runs, {}, [](const store::Run& run) { return run.start.rank ? run.start.rank->rank : 0; });
  return runs;
}

/// The chosen runs that meet the conditions. A group of ranks is treated like its first rank.
std::vector<store::Run> Spool::choose_where(Context& context,
                                            const store::Catalog& catalog) const {
  std::vector<store::Run> runs = choose(catalog);
  if (where_.empty()) return runs;
  const auto leader = [](const store::Run& run) {
    return run.start.rank ? run.start.rank->group : run.id;
  };
  std::vector<store::Run> leaders;
  std::ranges::copy_if(runs, std::back_inserter(leaders),
                       [&](const store::Run& run) { return leader(run) == run.id; });
  keep_runs_where(catalog, leaders, where_, context.now_us());
  if (leaders.empty()) none_meets(where_);
  std::erase_if(runs, [&](const store::Run& run) {
    return std::ranges::find(leaders, leader(run), &store::Run::id) == leaders.end();
  });
  return runs;
}

int Spool::run(Context& context) {
  if (follow_ && !where_.empty()) {
    throw UsageError(
        "--where chooses among runs as they are now, and --follow waits for more: leave out one");
  }
  objects_ = remote::open_objects(url_);
  parse_transfers(transfers_);
  refusals_.emplace(context);
  store::Store& opened = context.store_to_change();
  if (follow_) {
    watch(context, opened);
  } else {
    runs_ = choose_where(context, opened.catalog());
    for (const store::Run& run : runs_) {
      attempt("spooled", run, [&] { spool(context, opened, run); });
    }
  }
  if (delete_local_) {
    for (const store::Run& run : runs_) {
      if (refused_.contains(run.id)) continue;
      attempt("deleted here", run, [&] { delete_local(context, opened, run); });
    }
  }
  if (context.json()) {
    Json result = document("spool");
    result["url"] = objects_->url();
    result["runs"] = std::move(results_);
    print(context.out(), result);
  }
  return static_cast<int>(refusals_->status());
}

/// Calls `work` unless the run was refused before. When the first rank of a group is refused, the
/// other ranks are, too.
void Spool::attempt(const char* what, const store::Run& run, const std::function<void()>& work) {
  const std::int64_t group = run.start.rank ? run.start.rank->group : run.id;
  const std::string text = fmt::format("run {} is not {}", title(run), what);
  const std::string why = refusals_->attempt(runs_.size(), text, [&] {
    if (group != run.id && refused_.contains(group)) {
      throw Error("neither is rank 0 of its group");
    }
    work();
  });
  if (why.empty()) return;
  refused_.insert(run.id);
  results_.push_back({{"run", run.key}, {"refused", why}});
}

/// Uploads again and again until the runs have ended. An unreachable object store or another
/// process in the way does not end the loop, because that may pass. Refused runs are left out from
/// then on.
void Spool::watch(Context& context, store::Store& opened) {
  using std::chrono::seconds;
  constexpr seconds kPause{5}, kLongestPause{300};
  seconds pause = kPause;
  bool told = false;
  for (;;) {
    runs_ = choose(opened.catalog());
    const bool running = std::ranges::any_of(runs_, [&](const store::Run& run) {
      return run.state == store::RunState::running && !refused_.contains(run.id);
    });
    std::string trouble;
    // After `running` was determined: a run that had ended by then adds nothing more.
    if (!opened.catalog().follow()) trouble = "the catalog cannot be brought up to date";
    bool reachable = true;
    for (const store::Run& run : runs_) {
      if (refused_.contains(run.id) || !reachable) continue;
      attempt("spooled", run, [&] {
        try {
          spool(context, opened, run);
        } catch (const remote::Unreachable& error) {
          trouble = error.what();
          reachable = false;
        } catch (const Busy& error) {
          trouble = error.what();
        }
      });
    }
    if (trouble.empty()) {
      if (told) context.note("it goes on");
      told = false;
      pause = kPause;
      if (!running) return;
    } else if (!told) {
      context.note(fmt::format("{}: trying again", trouble));
      told = true;
    }
    context.out().flush();
    std::this_thread::sleep_for(pause);
    if (told) pause = std::min(2 * pause, kLongestPause);
  }
}

void Spool::spool(Context& context, store::Store& opened, const store::Run& run) {
  TransferBar bar("spooling " + title(run));
  remote::SpoolOptions options;
  options.threads = parse_transfers(transfers_);
  options.repair = repair_;
  options.progress = [&](const remote::TransferProgress& progress) { bar.show(progress); };
  const remote::SpoolReport report = remote::spool(opened, run, *objects_, options);
  bar.clear();
  if (report.lost > 0) {
    context.note(fmt::format(
        "run {}: {} damaged in {} and not here: flor remote verify says what is lost", title(run),
        report.lost == 1 ? "1 checkpoint or object is"
                         : fmt::format("{} checkpoints or objects are", report.lost),
        objects_->url()));
    refusals_->add(ExitStatus::damaged);
  }
  if (!context.json()) return print_text(context, run, report);
  Json entry;
  entry["run"] = run.key;
  entry["changed"] = report.changed;
  entry["checkpoints"] = report.run.checkpoints;
  entry["chunks"] = report.chunks;
  entry["chunks_sent"] = report.chunks_sent;
  entry["parcels_sent"] = report.parcels_sent;
  entry["parcels_found"] = report.parcels_found;
  entry["bytes_sent"] = report.bytes_sent;
  entry["facts_bytes_sent"] = report.facts_sent;
  entry["damaged"] = report.damaged;
  entry["lost"] = report.lost;
  results_.push_back(std::move(entry));
}

void Spool::print_text(Context& context, const store::Run& run,
                       const remote::SpoolReport& report) const {
  const std::string there = fmt::format("{} checkpoint{}", report.run.checkpoints,
                                        report.run.checkpoints == 1 ? "" : "s");
  if (!report.changed) {
    if (!follow_) {
      context.out().write(
          fmt::format("run {}: {} there, nothing to send\n", title(run),
                      report.run.checkpoints == 1 ? "1 checkpoint is" : there + " are"));
    }
    return;
  }
  context.out().write(fmt::format(
      "run {}: {}; sent {} of {} chunks, {} in {} parcel{}, and {} of facts\n", title(run), there,
      report.chunks_sent, report.chunks, bytes(report.bytes_sent), report.parcels_sent,
      report.parcels_sent == 1 ? "" : "s", bytes(report.facts_sent)));
}

void Spool::delete_local(Context& context, store::Store& opened, const store::Run& run) {
  const auto there = remote::choose_run(*objects_, run.key);
  TransferBar bar("reading back " + title(run));
  remote::TransferOptions options;
  options.threads = parse_transfers(transfers_);
  options.progress = [&](const remote::TransferProgress& progress) { bar.show(progress); };
  const remote::VerifyReport verified = remote::verify(*objects_, {there}, true, options);
  bar.clear();
  if (!verified.findings.empty()) {
    throw Damaged(fmt::format("{}: nothing was deleted here", verified.findings.front()));
  }
  const remote::DropReport report = remote::drop_local(opened, run, there, *objects_);
  if (context.json()) {
    results_.push_back(Json{{"run", run.key},
                            {"read_back_bytes", verified.bytes_read},
                            {"checkpoints_deleted", report.checkpoints},
                            {"freed_bytes", report.freed}});
    return;
  }
  context.out().write(fmt::format("run {}: read back {}, deleted {} here, freed {}\n", title(run),
                                  bytes(verified.bytes_read),
                                  counted(report.checkpoints, "checkpoint"), bytes(report.freed)));
}

}  // namespace

std::unique_ptr<Command> make_spool() { return std::make_unique<Spool>(); }

}  // namespace flor::cli
