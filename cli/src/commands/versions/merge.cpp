// flor merge: explain how to take a recorded version into a branch of one's own.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "shell/context.h"
#include "view/sources.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

class Merge final : public Command {
 public:
  std::string_view name() const override { return "merge"; }
  std::string_view summary() const override {
    return "explain how to take a recorded version into a branch";
  }
  std::string_view lesson() const override {
    return R"(Prints what differs between HEAD and the version that recorded the run, and the commands of git that
take it over. It changes nothing itself: what becomes of your branch is yours to decide.

  git merge --squash COMMIT       the version's changes as one commit of yours, on the branch you are
                                  on; conflicts are resolved as in any merge
  git switch -c NAME COMMIT       a new branch that begins at the version
  git restore --source COMMIT -- FILE
                                  one file as the run saw it
  git cherry-pick -n COMMIT       only what this version changed against the version before

Examples:
  flor merge linear               the latest run of linear
  flor merge linear:81be002       an older version
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "a run, or an experiment for its latest", true);
  }
  int run(Context& context) override;

 private:
  std::string run_;
};

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/// A name that git and shells take as it is.
std::string branch_name(const store::Run& run) {
  std::string name = fmt::format("{}-{}", run.start.experiment, short_key(run));
  for (char& c : name) {
    if (!is_plain(c)) c = '-';
  }
  // Neither is the beginning of a branch's name, nor two dots a part of one.
  if (name.front() == '-' || name.front() == '.') name.insert(0, "run");
  for (std::size_t at; (at = name.find("..")) != name.npos;) name[at] = '-';
  return name;
}

/// The file from wherever in the work tree one stands: no pattern, and no more than one word to a
/// shell.
std::string path_word(const std::string& path) {
  // Behind ":/" git takes some characters for magic.
  const bool plain = !path.empty() && path.front() != '_' && path.front() != '-' &&
                     std::ranges::all_of(path, [](char c) { return is_plain(c) || c == '/'; });
  if (plain) return ":/" + path;
  std::string word = "':(top,literal)";
  for (const char c : path) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

int Merge::run(Context& context) {
  const store::Run run = parse_whole_run(context, run_);
  const std::string& commit = run.start.commit;
  if (commit.empty()) {
    throw NotFound(fmt::format("run {} was recorded without git: there is no version to merge",
                               short_key(run)));
  }
  Sources sources(context);
  const git::Repository* repository = sources.find(run, {commit});
  if (!repository) return static_cast<int>(ExitStatus::not_found);
  const auto head = repository->head();
  const auto changes = repository->changes(head.value_or(""), commit);
  const std::string short_id = short_commit(commit);
  std::vector<std::pair<std::string, std::string>> commands;
  if (head && !changes.empty()) {
    commands.emplace_back(fmt::format("git merge --squash {}", short_id),
                          "take all of it as one commit, then: git commit");
  }
  commands.emplace_back(fmt::format("git switch -c {} {}", branch_name(run), short_id),
                        "or begin a branch at it");
  for (const git::FileChange& change : changes) {
    if (change.kind == 'D' || printable(change.path) != change.path) continue;
    commands.emplace_back(
        fmt::format("git restore --source {} -- {}", short_id, path_word(change.path)),
        "or take one file back");
    break;
  }
  if (context.json()) {
    Json result = document("merge");
    result["run"] = run.key;
    result["commit"] = commit;
    result["head"] = head ? Json(*head) : Json(nullptr);
    result["changes"] = changes_json(changes);
    Json lines = Json::array();
    for (const auto& [line, why] : commands) lines.push_back(line);
    result["commands"] = std::move(lines);
    print(context.out(), result);
    return 0;
  }
  Output& out = context.out();
  out.write(fmt::format("run {}: version {}, in {}\n", title(run), short_id,
                        printable(repository->work_tree().string())));
  out.write(fmt::format("changed since HEAD{}: {}\n",
                        head ? fmt::format(" {}", short_commit(*head)) : " (no commit yet)",
                        change_summary(changes)));
  changes_table(changes).print(out, context.style(), 2);
  out.write("\n");
  for (const auto& [line, why] : commands) {
    out.write(fmt::format("  {:<50}  # {}\n", printable(line), why));
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_merge() { return std::make_unique<Merge>(); }

}  // namespace flor::cli
