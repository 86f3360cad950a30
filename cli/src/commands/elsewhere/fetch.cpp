// flor fetch: downloads runs from an object store.
#include "checkpoint/elsewhere.h"
#include "choose/run_spec.h"
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

#include <set>

namespace flor::cli {
namespace {

class Fetch final : public Command {
 public:
  std::string_view name() const override { return "fetch"; }
  std::vector<std::string_view> aliases() const override { return {"pull"}; }
  std::string_view summary() const override { return "download runs from an object store"; }
  std::string_view lesson() const override {
    return R"(Copies all runs of NAME, or one run, from an object store to the store here, which is made if there is
none. With --epochs only the checkpoints that a replay of these epochs reads, and what these are
differences to; the others count as deleted and can be fetched later. What is here is not read again.
To a run that was recorded here come its own checkpoints, and what replays elsewhere found; what another
machine recorded of it does only with --take-over. Of several runs those that are refused are named,
and the others are fetched.

Examples:
  flor fetch linear file:///mnt/archive                 all runs of linear
  flor fetch 3f2a file:///mnt/archive --epochs 12       what a replay of epoch 12 needs
  flor fetch 3f2a file:///mnt/archive --epochs 10..19
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME|RUN", run_, "an experiment for all of its runs, or NAME~N or an id", true);
    syntax.operand("URL", url_, "where from", true);
    syntax.option("--epochs", "EPOCHS", epochs_,
                  "fetch only the checkpoints of these: A..B, both included");
    syntax.option("--checkpoint", "PLACE", places_,
                  "fetch only this one of RUN: KIND:LOOP:ITERATION:NAME; may be repeated");
    syntax.option("--transfers", "N", transfers_, "run N transfers at once (default 8)");
    syntax.flag("--take-over", take_over_,
                "continue a run recorded here as it went on elsewhere; it counts as fetched");
    syntax.other_name("--threads", "use --transfers N");
  }
  int run(Context& context) override {
    remote::FetchOptions options;
    options.threads = parse_transfers(transfers_);
    options.take_over = take_over_;
    if (!epochs_.empty()) {
      const EpochRange range = parse_epochs(epochs_);
      options.first_epoch = range.first;
      options.last_epoch = range.last;
    }
    const auto objects = remote::open_objects(url_);
    if (!places_.empty()) {
      if (!epochs_.empty()) throw UsageError("--checkpoint and --epochs: give one of them");
      options.only.emplace();
      for (const std::string& place : places_) {
        options.only->push_back(store::parse_place(place));
      }
      options.objects = false;
    }
    const remote::RunList there = options.only
                                      ? remote::RunList{{remote::choose_run(*objects, run_)}, {}}
                                      : runs_in(*objects, options.threads);
    const auto runs = options.only ? there.runs : choose_remote(there, run_, objects->url());
    store::Store& opened = context.store_to_change(store::OpenMode::create);
    Refusals refusals(context);
    std::set<std::string> refused;
    Json results = Json::array();
    for (const remote::RemoteRun& run : runs) {
      const std::string what = fmt::format("run {} is not fetched", title(run));
      const std::string why = refusals.attempt(runs.size(), what, [&] {
        if (refused.contains(run.leader)) {
          throw Error(fmt::format("run {}, which leads its group, is not", run.leader));
        }
        fetch(context, opened, *objects, run, options, results);
      });
      if (why.empty()) continue;
      refused.insert(run.key);
      results.push_back({{"run", run.key}, {"refused", why}});
    }
    if (context.json()) {
      Json result = document("fetch");
      result["url"] = objects->url();
      result["runs"] = std::move(results);
      print(context.out(), result);
    }
    // An unreadable manifest may belong to a run of the same name, unless the user named one run by
    // its key.
    const bool one = runs.size() == 1 && runs.front().key.starts_with(run_);
    if (!one) refusals.add(note_unreadable(context, there));
    return static_cast<int>(refusals.status());
  }

 private:
  static void fetch(Context& context, store::Store& opened, remote::ObjectStore& objects,
                    const remote::RemoteRun& run, remote::FetchOptions options, Json& results) {
    TransferBar bar("fetching " + title(run));
    options.progress = [&](const remote::TransferProgress& progress) { bar.show(progress); };
    const remote::FetchReport report = remote::fetch(opened, objects, run, options);
    bar.clear();
    if (context.json()) {
      results.push_back(json_of(report));
    } else {
      print_text(context, report);
    }
  }
  static Json json_of(const remote::FetchReport& report) {
    Json entry;
    entry["run"] = report.run.key;
    entry["added"] = report.added;
    entry["checkpoints"] = report.checkpoints;
    entry["chunks_received"] = report.chunks_received;
    entry["bytes_received"] = report.bytes_received;
    entry["proof_seconds"] = report.proof_seconds;
    return entry;
  }
  static void print_text(Context& context, const remote::FetchReport& report) {
    context.out().write(fmt::format("run {}: {}{} of {} came, {} in {}\n",
                                    title(report.run), report.added ? "new here; " : "",
                                    report.checkpoints,
                                    counted(report.run.checkpoints, "checkpoint"),
                                    counted(report.chunks_received, "chunk"),
                                    bytes(report.bytes_received)));
  }

  std::string run_, url_, epochs_;
  std::vector<std::string> places_;
  std::optional<std::uint64_t> transfers_;
  bool take_over_ = false;
};

}  // namespace

std::unique_ptr<Command> make_fetch() { return std::make_unique<Fetch>(); }

}  // namespace flor::cli
