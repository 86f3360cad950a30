// flor import: stores a .safetensors file as the checkpoint of a new run.
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
    syntax.option("--name", "NAME", name_, "name the new run's experiment (default 'import')");
  }
  int run(Context& context) override;

 private:
  store::NewRun start(const Context& context) const;

  std::string file_;
  std::string name_ = "import";
};

store::NewRun Import::start(const Context& context) const {
  store::NewRun start;
  start.experiment = name_;
  start.started_us = context.now_us();
  std::error_code unknown;
  start.directory = start.repository = std::filesystem::current_path(unknown).string();
  start.command = {"flor", "import", file_, "--name", name_};
  return start;
}

int Import::run(Context& context) {
  if (name_.empty()) throw UsageError("--name needs a name that is not empty");
  const store::Snapshot snapshot = store::read_safetensors(file_);
  store::Store& store = context.store_to_change(store::OpenMode::create);
  const auto [run, info] = store::import_snapshot(store, start(context), file_, snapshot);
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
