// flor archive: stores a finished run again in a form that is smaller and slower to read.
#include "maintain/archive.h"

#include "choose/run_spec.h"
#include "commands/commands.h"
#include "hindsight/walks.h"
#include "maintain/collect.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace flor::cli {
namespace {

using store::ArchiveReport;
using store::CollectReport;

Json json_of(const ProvenRun& proven) {
  Json proof{{"stored_epochs", proven.plan.stored},
             {"dropped_epochs", proven.dropped},
             {"longest_walk_seconds", proven.plan.longest},
             {"replay", Json()},
             {"differences", Json::array()}};
  if (!proven.replay) return proof;
  proof["replay"] = proven.replay->outcome.replay;
  proof["differences"] = proven.replay->summary.differences;
  return proof;
}

class Archive final : public Command {
 public:
  std::string_view name() const override { return "archive"; }
  std::string_view summary() const override { return "recompress a finished run"; }
  std::string_view lesson() const override {
    return R"(Encodes the checkpoints of a finished run anew, in longer chains of differences and in whichever form
is shortest; checks all of it, then removes the old form and other garbage, as `flor gc` does. May run
while other runs are recorded and replayed. Reading an archived checkpoint takes longer: as many
differences as the chain is long.

With --prove, first replays the run with the program that recorded it, and drops each checkpoint
that the replay computes again to the bit, but those from which any other is computed within a time.
`flor keep RUN@EPOCH --undo` stores one of them again. docs/checkpoints.md says more.

Examples:
  flor archive linear           the latest run of 'linear'
  flor archive 3f2a --depth 32  chains of up to 32 differences
  flor archive 3f2a --prove --within 5m --portable 10
                                each epoch within 5 minutes; 10 stay for other machines
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run to archive", true);
    syntax.option("--depth", "N", depth_,
                  "make chains of up to N differences, 1 to 64 (default 16)");
    syntax.flag("--prove", prove_, "delete what a replay, done now, computes again to the bit");
    syntax.option(
        "--within", "TIME", within_,
        "keep so many that each epoch is computed within TIME, as 90s or 5m (default 60s)");
    syntax.option("--portable", "N", portable_,
                  "keep N epochs, spread over the run, for machines that compute other bits");
    syntax.option("-w,--workers", "N", workers_,
                  "replay with N processes (default: as many as the cores allow)");
    syntax.flag("--trust", trust_,
                "execute commands of a run from elsewhere, and do not ask");
  }
  int run(Context& context) override {
    store::Store& opened = context.store_to_change();
    const store::Run run = parse_whole_run(context, run_);
    store::ArchiveOptions options;
    if (depth_) {
      if (*depth_ < 1 || *depth_ > 64) throw UsageError("--depth is a number from 1 to 64");
      options.depth_max = static_cast<std::uint8_t>(*depth_);
    }
    const std::optional<ProvenRun> proven = prove(context, run);
    if (proven && proven->status() != ExitStatus::done) return end_of(context, run, *proven);
    const ArchiveReport report = store::archive(opened, run, options);
    const CollectReport collected = store::collect(opened, false, store::kTightShare);
    if (context.json()) {
      print_json(context, run, proven, report, collected);
    } else {
      if (proven) print_text(context, run, *proven);
      print_text(context, run, report, collected);
    }
    return static_cast<int>(collected.refused == 0 ? ExitStatus::done : ExitStatus::partly_done);
  }

 private:
  std::optional<ProvenRun> prove(Context& context, const store::Run& run) const;
  int end_of(Context& context, const store::Run& run, const ProvenRun& proven) const;
  void print_text(Context& context, const store::Run& run, const ProvenRun& proven) const;
  static void print_text(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected);
  static void print_json(Context& context, const store::Run& run,
                         const std::optional<ProvenRun>& proven, const ArchiveReport& report,
                         const CollectReport& collected);

  std::string run_, within_;
  std::optional<std::uint64_t> depth_, portable_, workers_;
  bool prove_ = false, trust_ = false;
};

/// Parses "90", "90s", "5m" and "1.5h".
double parse_within(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string_view unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double seconds = number * scale;
  // 1e9 seconds are 30 years
  if (end == text.c_str() || !(seconds > 0) || seconds > 1e9) {
    throw UsageError(
        fmt::format("--within {}: give a time, as in 90s, 5m or 1.5h", printable(text)));
  }
  return seconds;
}

std::optional<ProvenRun> Archive::prove(Context& context, const store::Run& run) const {
  if (!prove_) {
    if (within_.empty() && !portable_ && !workers_ && !trust_) return std::nullopt;
    throw UsageError("--within, --portable, --workers and --trust belong to --prove");
  }
  store::WalkWish wish;
  if (!within_.empty()) wish.within = parse_within(within_);
  constexpr std::uint64_t kMost = 1'000'000'000;
  wish.portable = static_cast<std::int64_t>(std::min(portable_.value_or(0), kMost));
  return prove_run(context, run, wish, workers_, trust_);
}

/// The proof is not whole: nothing more is done, and what was proven is dropped.
int Archive::end_of(Context& context, const store::Run& run, const ProvenRun& proven) const {
  if (context.json()) {
    Json result = document("archive");
    result["run"] = run.key;
    result["proof"] = json_of(proven);
    print(context.out(), result);
  } else {
    print_text(context, run, proven);
  }
  context.note(fmt::format(
      "what is not proven stays, and run {} is not archived further: `flor archive {}` alone does "
      "that",
      title(run), short_key(run)));
  return static_cast<int>(proven.status());
}

void Archive::print_text(Context& context, const store::Run& run, const ProvenRun& proven) const {
  const store::WalkPlan& plan = proven.plan;
  Output& out = context.out();
  if (!proven.replay) {
    out.write(fmt::format("run {}: nothing to prove, {} needed for walks of {}\n", title(run),
                          plan.stored == 1 ? "the 1 stored epoch is"
                                           : fmt::format("all {} stored epochs are", plan.stored),
                          within_.empty() ? "60s" : printable(within_)));
    return;
  }
  for (const std::string& difference : proven.replay->summary.differences) {
    out.write(fmt::format("differs: {}\n", printable(difference)));
  }
  for (const auto& [part, why] : proven.replay->outcome.failed) {
    out.write(fmt::format("failed: epoch {}: {}\n", part, printable(why)));
  }
  out.write(
      fmt::format("run {}: {} of {} dropped, computed again by replay {}; the longest walk to "
                  "one takes {}\n",
                  title(run), proven.dropped, counted(plan.stored, "stored epoch"),
                  proven.replay->outcome.replay, duration(plan.longest)));
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void Archive::print_text(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected) {
  Output& out = context.out();
  for (const std::string& remark : collected.remarks) {
    out.write(fmt::format("remark: {}\n", printable(remark)));
  }
  out.write(fmt::format("run {}: {} of {} of {} stored anew\n", title(run), report.chunks_written,
                        counted(report.chunks, "chunk"),
                        counted(report.checkpoints, "checkpoint")));
  if (report.chunks_pinned > 0) {
    const bool one = report.chunks_pinned == 1;
    out.write(fmt::format("{} left as {}: other runs build upon {}\n",
                          one ? "1 chunk is" : fmt::format("{} chunks are", report.chunks_pinned),
                          one ? "it is" : "they are", one ? "it" : "them"));
  }
  out.write(fmt::format("{} instead of {}: {:.1f} % instead of {:.1f} % of the raw content\n",
                        bytes(report.after), bytes(report.before),
                        percent(report.after, report.raw_bytes),
                        percent(report.before, report.raw_bytes)));
  out.write(fmt::format("freed {} of {}\n", bytes(collected.freed), bytes(collected.bytes_before)));
}

void Archive::print_json(Context& context, const store::Run& run,
                         const std::optional<ProvenRun>& proven, const ArchiveReport& report,
                         const CollectReport& collected) {
  Json result = document("archive");
  result["run"] = run.key;
  result["proof"] = proven ? json_of(*proven) : Json();
  result["checkpoints"] = report.checkpoints;
  result["chunks"] = report.chunks;
  result["chunks_written"] = report.chunks_written;
  result["chunks_pinned"] = report.chunks_pinned;
  result["raw_bytes"] = report.raw_bytes;
  result["stored_bytes_before"] = report.before;
  result["stored_bytes"] = report.after;
  result["freed_bytes"] = collected.freed;
  result["remarks"] = collected.remarks;
  print(context.out(), result);
}

}  // namespace

std::unique_ptr<Command> make_archive() { return std::make_unique<Archive>(); }

}  // namespace flor::cli
