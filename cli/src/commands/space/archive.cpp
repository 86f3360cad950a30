// flor archive: stores a finished run again in a form that is smaller and slower to read.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::ArchiveReport;
using store::CollectReport;

class Archive final : public Command {
 public:
  std::string_view name() const override { return "archive"; }
  std::string_view summary() const override { return "recompress a finished run"; }
  std::string_view lesson() const override {
    return R"(Encodes the checkpoints of a finished run anew, in longer chains of differences and in whichever form
is shortest; checks all of it, then removes the old form and other garbage, as `flor gc` does. May run
while other runs are recorded and replayed. Reading an archived checkpoint takes longer: as many
differences as the chain is long.

Examples:
  flor archive linear           the latest run of 'linear'
  flor archive 3f2a --depth 32  chains of up to 32 differences
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run to archive", true);
    syntax.option("--depth", "N", depth_,
                  "make chains of up to N differences, 1 to 64 (default 16)");
  }
  int run(Context& context) override {
    store::Store& opened = context.store_to_change();
    const store::Run run = parse_whole_run(context, run_);
    store::ArchiveOptions options;
    if (depth_) {
      if (*depth_ < 1 || *depth_ > 64) throw UsageError("--depth is a number from 1 to 64");
      options.depth_max = static_cast<std::uint8_t>(*depth_);
    }
    const ArchiveReport report = store::archive(opened, run, options);
    const CollectReport collected = store::collect(opened, false, store::kTightShare);
    if (context.json()) {
      print_json(context, run, report, collected);
    } else {
      print_text(context, run, report, collected);
    }
    return static_cast<int>(collected.refused == 0 ? ExitStatus::done : ExitStatus::partly_done);
  }

 private:
  static void print_text(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected);
  static void print_json(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected);

  std::string run_;
  std::optional<std::uint64_t> depth_;
};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void Archive::print_text(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected) {
  Output& out = context.out();
  for (const std::string& remark : collected.remarks) {
    out.write(fmt::format("remark: {}\n", printable(remark)));
  }
  out.write(fmt::format("run {}: {} of {} of {} stored anew\n", title(run),
                        report.chunks_written, counted(report.chunks, "chunk"),
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

void Archive::print_json(Context& context, const store::Run& run, const ArchiveReport& report,
                         const CollectReport& collected) {
  Json result = document("archive");
  result["run"] = run.key;
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
