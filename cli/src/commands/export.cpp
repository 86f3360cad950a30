// flor export: one checkpoint as a file that other tools read.
#include "commands/commands.h"
#include "context.h"
#include "export_file.h"
#include "output/json.h"
#include "output/text.h"
#include "output/time.h"
#include "run_spec.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

using store::CheckpointInfo;
using store::CheckpointKind;

class Export final : public Command {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override { return "write a checkpoint as .safetensors or .pt"; }
  std::string_view lesson() const override {
    return R"(Writes the state after an epoch, or after the last one that is stored, to a file. A .pt file holds
a dictionary of tensors, for torch.load of Python and torch::pickle_load of libtorch.

Examples:
  flor export linear@12 model.safetensors
  flor export linear@s3 model.safetensors         what flor::save_checkpoint named s3
  flor export linear model.pt                     the last state of the latest run
  flor export linear@12 model.pt --loop train     at the end of the nested loop
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN@EPOCH", run_,
                   "the run, and the epoch after which the state is wanted, or RUN@NAME", true);
    syntax.operand("FILE", file_, "where to write; its ending chooses the format", true);
    syntax.option("-l,--loop", "NAME", loop_, "the state at the end of this nested loop");
  }
  int run(Context& context) override;

 private:
  CheckpointInfo choose(const store::Catalog& catalog, const RunChoice& choice) const;
  [[noreturn]] void throw_none(const store::Catalog& catalog, const RunChoice& choice,
                               const std::string& stored) const;

  std::string run_, file_, loop_;
};

/// The epoch after which the checkpoint was taken, counted over all main loops.
std::int64_t epoch_of(const std::vector<store::MainLoop>& loops, const store::CheckpointKey& key) {
  std::int64_t first = 0;
  for (const store::MainLoop& loop : loops) {
    if (loop.ordinal == key.main_loop) first = loop.first_epoch;
  }
  return first + key.iteration - (key.kind == CheckpointKind::boundary ? 1 : 0);
}

/// ", which was deleted: ...", if it was and can come back.
std::string deleted_text(const store::Catalog& catalog, const RunChoice& choice,
                         CheckpointKind kind, const std::string& loop) {
  const auto loops = catalog.main_loops(choice.run.id);
  const auto list = catalog.discarded(choice.run.id);
  const bool deleted = std::ranges::any_of(list, [&](const store::DiscardedCheckpoint& discarded) {
    const store::CheckpointKey& key = discarded.info.key;
    const bool same = kind == CheckpointKind::saved || epoch_of(loops, key) == choice.epoch;
    return !discarded.collected_us && key.kind == kind && key.loop == loop && same;
  });
  if (!deleted) return {};
  const std::string place =
      choice.saved.empty() ? std::to_string(choice.epoch.value_or(0)) : choice.saved;
  return fmt::format(": it was deleted, `flor keep {}@{} --undo` brings it back",
                     short_key(choice.run), place);
}

CheckpointInfo Export::choose(const store::Catalog& catalog, const RunChoice& choice) const {
  const auto loops = catalog.main_loops(choice.run.id);
  if (!choice.saved.empty()) {
    const auto list = catalog.checkpoints(choice.run.id);
    const auto saved = std::ranges::find_if(list, [&](const CheckpointInfo& info) {
      return info.key.kind == CheckpointKind::saved && info.key.loop == choice.saved;
    });
    if (saved != list.end()) return *saved;
    throw NotFound(fmt::format("run {} has no checkpoint '{}' any more{}", title(choice.run),
                               printable(choice.saved),
                               deleted_text(catalog, choice, CheckpointKind::saved, choice.saved)));
  }
  const auto kind = loop_.empty() ? CheckpointKind::boundary : CheckpointKind::loop_end;
  std::optional<CheckpointInfo> best;
  std::string stored;
  for (const CheckpointInfo& info : catalog.checkpoints(choice.run.id)) {
    if (info.key.kind != kind || info.key.loop != loop_) continue;
    // Before the first iteration of a main loop the state is that after the loop before.
    const bool entry = kind == CheckpointKind::boundary && info.key.iteration == 0;
    if (choice.epoch && entry) continue;
    const std::int64_t epoch = epoch_of(loops, info.key);
    if (!choice.epoch || epoch == *choice.epoch) best = info;
    if (!entry) stored += fmt::format("{}{}", stored.empty() ? "" : ", ", epoch);
  }
  if (best) return *best;
  throw_none(catalog, choice, stored);
}

void Export::throw_none(const store::Catalog& catalog, const RunChoice& choice,
                        const std::string& listed) const {
  const auto kind = loop_.empty() ? CheckpointKind::boundary : CheckpointKind::loop_end;
  std::string stored = listed;
  constexpr std::size_t kListed = 200;
  if (stored.size() > kListed)
    stored.replace(stored.rfind(',', kListed), std::string::npos, ", ...");
  const std::string place =
      loop_.empty() ? "" : fmt::format(" at the end of '{}'", printable(loop_));
  const std::string deleted = choice.epoch ? deleted_text(catalog, choice, kind, loop_) : "";
  if (!deleted.empty()) {
    throw NotFound(fmt::format("run {} has no checkpoint after epoch {}{} any more{}",
                               title(choice.run), *choice.epoch, place, deleted));
  }
  if (stored.empty()) {
    throw NotFound(fmt::format("run {} has no checkpoint{}: see 'flor show {}'", title(choice.run),
                               place, short_key(choice.run)));
  }
  throw NotFound(fmt::format("run {} has no checkpoint after epoch {}{}: there are those of {}",
                             title(choice.run), choice.epoch.value_or(0), place, stored));
}

int Export::run(Context& context) {
  const std::filesystem::path file(file_);
  check_export_name(file);
  const RunChoice choice = parse_run(context.catalog(), run_);
  const CheckpointInfo info = choose(context.catalog(), choice);
  const std::int64_t epoch = epoch_of(context.catalog().main_loops(choice.run.id), info.key);
  const store::ExportReport report =
      export_checkpoint(context.store(), info.id, file,
                        {.run = choice.run.key,
                         .experiment = choice.run.start.experiment,
                         .commit = choice.run.start.commit,
                         .epoch = epoch,
                         .loop = choice.saved.empty() ? info.key.loop : "",
                         .saved = choice.saved,
                         .digest = info.digest.hex()});
  if (context.json()) {
    Json result = document("export");
    result["run"] = choice.run.key;
    result["epoch"] = epoch;
    result["loop"] = json_text(choice.saved.empty() ? info.key.loop : "");
    result["saved"] = json_text(choice.saved);
    result["digest"] = info.digest.hex();
    result["file"] = file_;
    result["tensors"] = report.tensors;
    result["others"] = report.others;
    result["bytes"] = report.bytes;
    print(context.out(), result);
    return 0;
  }
  const std::string place = choice.saved.empty() ? fmt::format("after epoch {}", epoch)
                                                 : "saved as " + printable(choice.saved);
  context.out().write(fmt::format("{}: {} tensors and {} other items of run {} {}, {}\n",
                                  printable(file_), report.tensors, report.others,
                                  title(choice.run), place, bytes(report.bytes)));
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace flor::cli
