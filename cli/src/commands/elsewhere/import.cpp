// flor import: a .safetensors file as the checkpoint of a new run.
#include "checkpoint/transfer.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class Import final : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "store a .safetensors file as a run"; }
  std::string_view lesson() const override {
    return R"(Makes a new run with one epoch, whose checkpoint holds the tensors of the file. What `flor export`
wrote comes back bit for bit.

Examples:
  flor import model.safetensors
  flor import model.safetensors --name pretrained
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("FILE", file_, "a .safetensors file", true);
    syntax.option("--name", "NAME", name_, "the experiment of the new run, instead of 'import'");
  }
  int run(Context& context) override;

 private:
  store::Run record(Context& context, const store::Snapshot& snapshot,
                    store::CheckpointInfo& info) const;

  std::string file_;
  std::string name_ = "import";
};

store::Run Import::record(Context& context, const store::Snapshot& snapshot,
                          store::CheckpointInfo& info) const {
  store::Store& opened = context.store_to_change(store::OpenMode::create);
  store::Catalog& catalog = opened.catalog();
  store::NewRun start;
  start.experiment = name_;
  start.started_us = context.now_us();
  std::error_code unknown;
  start.directory = start.repository = std::filesystem::current_path(unknown).string();
  start.command = {"flor", "import", file_, "--name", name_};
  const store::RunOrigin origin{store::RunOrigin::Kind::imported,
                                std::filesystem::absolute(file_, unknown).string(),
                                context.now_us()};
  const store::Run run = catalog.add_run(start, {}, origin);
  try {
    const auto lock = opened.lock_run(run.key);
    info = store::CheckpointWriter(opened, run.id)
               .write({store::CheckpointKind::boundary, 0, 1, ""}, snapshot);
    catalog.add_iteration(run.id, {0, 0, 0, 0});
    catalog.put_main_loop(run.id, {0, "import", 0, 1, true, false});
    catalog.finish_run(run.id, now_us(), false, "");
  } catch (...) {
    catalog.drop_run(run.id);
    throw;
  }
  return *catalog.run(run.id);
}

int Import::run(Context& context) {
  if (name_.empty()) throw UsageError("--name needs a name that is not empty");
  const store::Snapshot snapshot = store::read_safetensors(file_);
  store::CheckpointInfo info;
  const store::Run run = record(context, snapshot, info);
  if (context.json()) {
    Json result = document("import");
    result["run"] = run.key;
    result["experiment"] = name_;
    result["items"] = snapshot.items.size();
    result["digest"] = info.digest.hex();
    result["raw_bytes"] = info.raw_bytes;
    result["stored_bytes"] = info.stored_bytes;
    print(context.out(), result);
    return 0;
  }
  context.out().write(fmt::format("run {}: {} items, {}, {} added to the store\n", title(run),
                                  snapshot.items.size(), bytes(info.raw_bytes),
                                  bytes(info.stored_bytes)));
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_import() { return std::make_unique<Import>(); }

}  // namespace flor::cli
