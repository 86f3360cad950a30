// flor checkout: checks the sources of a recorded version out, beside the work tree.
#include "build/git_worktree.h"
#include "build/version_build.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

class Checkout final : public Command {
 public:
  std::string_view name() const override { return "checkout"; }
  std::string_view summary() const override {
    return "check out the sources of a recorded version";
  }
  std::string_view lesson() const override {
    return R"(Makes DIR a linked work tree of the repository with the sources as the run had them: all of them,
detached, beside your own work tree, whose files, HEAD and index stay as they are. Submodules come from
those of your work tree. `git worktree remove DIR` takes it away again.

Examples:
  flor checkout linear~2 ../old       the version of two runs ago
  flor checkout linear:3f2a91c4       beside the repository, as REPOSITORY-3f2a91c4
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "a run, or NAME:COMMIT", true);
    syntax.operand("DIR", directory_, "a new or empty directory", false);
  }
  int run(Context& context) override;

 private:
  std::string run_, directory_;
};

int Checkout::run(Context& context) {
  const store::Run run = parse_whole_run(context, run_);
  const git::Repository repository = repository_of(run);
  const fs::path root = repository.work_tree();
  const fs::path place =
      directory_.empty()
          ? fs::path(fmt::format("{}-{}", root.string(), short_commit(run.start.commit)))
          : fs::absolute(directory_).lexically_normal();
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(place, error));
  if (there && !(fs::is_directory(place, error) && fs::is_empty(place, error))) {
    throw UsageError(fmt::format("{} is there already and not an empty directory: name another",
                                 printable(place.string())));
  }
  add_work_tree(root, place, run.start.commit);
  const std::vector<std::string> missing = place_submodules(root, place);
  for (const std::string& line : missing) context.note("not checked out: " + line);
  if (context.json()) {
    Json result = document("checkout");
    result["run"] = run.key;
    result["commit"] = run.start.commit;
    result["directory"] = json_text(place.string());
    result["missing"] = missing;
    print(context.out(), result);
  } else {
    context.note(fmt::format("version {} of run {}; `git worktree remove` takes it away again",
                             short_commit(run.start.commit), title(run)));
    context.out().write(place.string() + "\n");
  }
  return static_cast<int>(missing.empty() ? ExitStatus::done : ExitStatus::partly_done);
}

}  // namespace

std::unique_ptr<Command> make_checkout() { return std::make_unique<Checkout>(); }

}  // namespace flor::cli
