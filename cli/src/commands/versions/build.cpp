// flor build: builds the program of a recorded version.
#include "build/program_choice.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
#include "trust/permit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

class Build final : public Command {
 public:
  std::string_view name() const override { return "build"; }
  std::string_view summary() const override { return "build the program of a recorded version"; }
  std::string_view lesson() const override {
    return R"(Checks the version out into a work tree of Flor's own below the store, builds it as the recorded
program was built (flor_instrument of CMake says how), and prints the executable. Your work tree, HEAD
and index stay as they are. What two versions have in common is compiled once; the executable stays
until another version is built.

Examples:
  flor build linear:3f2a91c4                 the version of that commit
  flor build linear~3                        that of the run three runs before
  flor build 84076268 --trust                 of a run that was fetched, by its recipe
  flor build linear --build 'make train'     for programs without flor_instrument; it is remembered
  $(flor build linear~3) --epochs 2          run it
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "a run, or NAME:COMMIT", true);
    syntax.option("--build", "COMMAND", command_,
                  "build with this command, which makes the program $FLOR_PROGRAM");
    syntax.flag("--clean", clean_, "begin from nothing");
    syntax.flag("--trust", trust_,
                "execute commands of a run from elsewhere, and do not ask");
  }
  int run(Context& context) override {
    const store::Run run = parse_whole_run(context, run_);
    try {
      const Permit permit = Gate(context, Gate::Use::build, trust_).pass(run);
      print(context, run, build_and_say(context, run, permit, command_, clean_).built);
    } catch (const BuildError& error) {
      context.note(error.what());
      print_build_error(context, error);
      return static_cast<int>(error.status());
    }
    return static_cast<int>(ExitStatus::done);
  }

 private:
  static void print(Context& context, const store::Run& run, const BuiltVersion& built);

  std::string run_, command_;
  bool clean_ = false, trust_ = false;
};

void Build::print(Context& context, const store::Run& run, const BuiltVersion& built) {
  if (context.json()) {
    Json result = document("build");
    result["run"] = run.key;
    result["commit"] = run.start.commit;
    result["program"] = json_text(built.program.string());
    result["sources"] = json_text(built.sources.string());
    result["log"] = built.log.empty() ? Json() : json_text(built.log.string());
    result["up_to_date"] = built.up_to_date;
    result["seconds"] = json_number(built.seconds);
    return cli::print(context.out(), result);
  }
  context.note(built.up_to_date
                   ? std::string("it was built before")
                   : fmt::format("built in {} ({})", duration(built.seconds), built.log.string()));
  context.out().write(built.program.string() + "\n");
}

}  // namespace

std::unique_ptr<Command> make_build() { return std::make_unique<Build>(); }

}  // namespace flor::cli
