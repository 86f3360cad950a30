// flor rename: moves a run to another experiment name.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "index/catalog/labels.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class Rename final : public Command {
 public:
  std::string_view name() const override { return "rename"; }
  std::string_view summary() const override { return "move a run to another experiment"; }
  std::string_view lesson() const override {
    return R"(Gives a run the name of an experiment, as if it had been recorded with --flor NAME: all ranks of a
group together. A run that is being recorded keeps its name until it has ended. The experiment is a
new one if no run has that name.

Examples:
  flor rename linear~1 linear-wide     the run before the latest is one of linear-wide
  flor rename 3f2a91c4 linear          a run by its id
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run", true);
    syntax.operand("NAME", name_, "the experiment that it belongs to from now on", true);
  }
  int run(Context& context) override {
    const store::Run run = parse_whole_run(context, run_);
    if (name_ != run.start.experiment) {
      store::rename_run(context.store_to_change(), run.id, name_);
    }
    if (context.json()) {
      Json result = document("rename");
      result["run"] = run.key;
      result["before"] = run.start.experiment;
      result["experiment"] = name_;
      print(context.out(), result);
    } else {
      context.out().write(
          fmt::format("run {} is a run of {} now\n", title(run), printable(name_)));
    }
    return 0;
  }

 private:
  std::string run_, name_;
};

}  // namespace

std::unique_ptr<Command> make_rename() { return std::make_unique<Rename>(); }

}  // namespace flor::cli
