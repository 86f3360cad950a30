// flor gc: frees the disk space of data that nothing refers to any more.
#include "commands/commands.h"
#include "maintain/collect.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
#include "watch/checkpoint_files.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::CollectReport;

class Gc final : public Command {
 public:
  std::string_view name() const override { return "gc"; }
  std::string_view summary() const override { return "free disk space of deleted data"; }
  std::string_view lesson() const override {
    return R"(Removes content that no checkpoint and no logged tensor needs any more, and what killed programs
left behind, and gives the space back to the disk. May run while others record, replay and read.

Examples:
  flor gc --dry-run             what would be freed
  flor gc                       free it
  flor gc --compact             more of it, by copying more
)";
  }
  void setup(Syntax& syntax) override {
    syntax.flag("--dry-run", dry_run_, "show what would be done, and change nothing");
    syntax.flag("--compact", compact_, "copy packs of which up to 95 % are alive, too");
    syntax.other_name("-n", "use --dry-run");
    syntax.other_name("-c", "use --compact");
  }
  int run(Context& context) override {
    const store::Store& opened =
        dry_run_ ? context.store() : context.store_to_change(store::OpenMode::freeing);
    const CollectReport report =
        store::collect(opened, dry_run_, compact_ ? store::kTightShare : store::kSparseShare);
    if (!dry_run_) remove_abandoned_files(opened);
    if (context.json()) {
      print_json(context, opened, report);
    } else {
      print_text(context, report);
    }
    return static_cast<int>(report.refused == 0 ? ExitStatus::done : ExitStatus::partly_done);
  }

 private:
  void print_text(Context& context, const CollectReport& report) const;
  void print_json(Context& context, const store::Store& opened, const CollectReport& report) const;

  bool dry_run_ = false, compact_ = false;
};

void Gc::print_text(Context& context, const CollectReport& report) const {
  Output& out = context.out();
  for (const std::string& remark : report.remarks) {
    out.write(fmt::format("remark: {}\n", printable(remark)));
  }
  const auto plural = [](std::int64_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  out.write(fmt::format("{} {}, {}, {}; {} {}\n", dry_run_ ? "would remove" : "removed",
                        plural(report.chunks, "chunk"), plural(report.packs_removed, "pack"),
                        plural(report.orphans_removed, "orphan"),
                        dry_run_ ? "would compact" : "compacted",
                        plural(report.packs_compacted, "pack")));
  if (report.journals_sealed > 0) {
    out.write(fmt::format("sealed {}, which frees {}\n", plural(report.journals_sealed, "journal"),
                          bytes(report.freed_by_sealing)));
  }
  if (report.runs > 0) {
    out.write(fmt::format("{} cannot be brought back {}\n", plural(report.runs, "removed run"),
                          dry_run_ ? "then" : "any more"));
  }
  if (report.checkpoints > 0) {
    out.write(fmt::format("{} cannot be brought back {}\n",
                          plural(report.checkpoints, "deleted checkpoint"),
                          dry_run_ ? "then" : "any more"));
  }
  out.write(fmt::format("{} {} of {}\n", dry_run_ ? "would free" : "freed", bytes(report.freed),
                        bytes(report.bytes_before)));
  if (report.kept_garbage > 0) {
    out.write(fmt::format("{} of garbage stays in packs that are in use{}\n",
                          bytes(report.kept_garbage),
                          compact_ ? "" : ": flor gc --compact copies what is in use"));
  }
}

void Gc::print_json(Context& context, const store::Store& opened,
                    const CollectReport& report) const {
  Json result = document("gc");
  result["home"] = opened.home().string();
  result["dry_run"] = dry_run_;
  result["chunks"] = report.chunks;
  result["packs_removed"] = report.packs_removed;
  result["packs_compacted"] = report.packs_compacted;
  result["orphans_removed"] = report.orphans_removed;
  result["journals_sealed"] = report.journals_sealed;
  result["freed_by_sealing_bytes"] = report.freed_by_sealing;
  result["checkpoints"] = report.checkpoints;
  result["runs"] = report.runs;
  result["bytes_before"] = report.bytes_before;
  result["freed_bytes"] = report.freed;
  result["kept_garbage_bytes"] = report.kept_garbage;
  result["remarks"] = report.remarks;
  print(context.out(), result);
}

}  // namespace

std::unique_ptr<Command> make_gc() { return std::make_unique<Gc>(); }

}  // namespace flor::cli
