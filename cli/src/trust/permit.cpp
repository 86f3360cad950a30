#include "trust/permit.h"

#include "choose/run_spec.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/program_of_run.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <vector>

namespace flor::cli {
namespace {

/// The width to which a refusal, which is one line, shortens the command.
constexpr std::size_t kRefusalWidth = 120;

/// A word quoted as a user would type it, safe to print.
std::string as_typed(std::string_view word) { return printable(shell_word(word)); }

/// The recorded command: the program or interpreter with its arguments, and the name by which it
/// was called if that differs.
std::string command_text(const store::Run& run) {
  const std::string interpreter = detail::interpreter_of(run);
  std::string text = as_typed(interpreter.empty() ? run.start.program : interpreter);
  const auto& words = run.start.command.words();
  for (std::size_t i = 1; i < words.size(); ++i) text.append(" ").append(as_typed(words[i]));
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (!interpreter.empty()) {
    text += fmt::format(" (in {}, the script {})", as_typed(run.start.directory),
                        as_typed(run.start.program));
  } else if (!words.empty() && name(words.front()) != name(run.start.program)) {
    text += fmt::format(" (called {})", as_typed(words.front()));
  }
  return text;
}

/// All facts that decide what is executed or built, as one text.
std::string facts_text(const store::Catalog& catalog, const store::Run& run) {
  const auto build = catalog.build(run.id);
  const store::NewRun& start = run.start;
  std::vector<std::string> facts{start.program,    start.program_digest, start.directory,
                                 start.repository, start.commit, detail::interpreter_of(run)};
  facts.push_back(build ? build->recipe : "");
  const auto& words = start.command.words();
  facts.insert(facts.end(), words.begin(), words.end());
  std::string text;
  for (const std::string& fact : facts) text += fmt::format("{} {}\n", fact.size(), fact);
  return text;
}

/// Whether a run recorded here has the same program, command, directory, version and recipe.
bool is_same_as_here(const store::Catalog& catalog, const store::Run& run) {
  if (run.start.program_digest.empty()) return false;
  const std::string facts = facts_text(catalog, run);
  bool found = false;
  std::vector<store::Run> alike;
  store::Run other;
  catalog.each_run(other, [&] {
    if (other.origin.recorded_here() && other.start.program == run.start.program &&
        other.start.program_digest == run.start.program_digest &&
        other.start.command == run.start.command) {
      alike.push_back(other);
    }
    return true;
  });
  for (const store::Run& one : alike) found = found || facts_text(catalog, one) == facts;
  return found;
}

bool can_ask(const Context& context) {
  return !context.json() && ::isatty(0) == 1 && ::isatty(2) == 1;
}

}  // namespace

void require_program(const store::Run& run) {
  if (!run.unreadable.empty()) {
    throw Damaged(
        fmt::format("run {}: {}, so that nothing of it is executed: `flor rm {}` "
                    "removes it",
                    short_key(run), run.unreadable, short_key(run)));
  }
  detail::require_recording_program(run, "replay");
}

std::string origin_text(const store::RunOrigin& origin, std::int64_t now_us) {
  if (origin.recorded_here()) return "recorded here";
  return fmt::format("{} from {} {}", store::to_string(origin.kind), printable(origin.from),
                     relative(origin.since_us, now_us));
}

Permit Gate::pass(const store::Run& run) {
  if (run.origin.recorded_here()) return Permit(Permit::Reason::recorded_here);
  if (is_same_as_here(context_.catalog(), run)) return Permit(Permit::Reason::same_as_here);
  if (trust_) return Permit(Permit::Reason::trusted);
  if (!can_ask(context_)) refuse(run);
  return ask(run);
}

Permit Gate::ask(const store::Run& run) {
  const std::string facts = facts_text(context_.catalog(), run);
  if (confirmed_.contains(facts)) return Permit(Permit::Reason::confirmed);
  context_.note(fmt::format("run {} was {}; this is what it would execute", title(run),
                            origin_text(run.origin, context_.now_us())));
  const auto line = [&](std::string_view name, const std::string& text) {
    context_.note(fmt::format("  {:<9}  {}", name, text));
  };
  line("program", command_text(run));
  line("directory", as_typed(run.start.directory));
  if (const auto build = context_.catalog().build(run.id); build && !run.start.commit.empty()) {
    line("or build", fmt::format("version {} by its recipe, which `flor show {} --json` has",
                                 short_commit(run.start.commit), short_key(run)));
  }
  fmt::print(stderr, "flor: {} it? [y/N] ", use_ == Use::build ? "build" : "execute");
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "Y" && answer != "yes") {
    throw Error(fmt::format("run {}: nothing was executed", title(run)));
  }
  confirmed_.insert(facts);
  return Permit(Permit::Reason::confirmed);
}

void Gate::refuse(const store::Run& run) const {
  const std::string key = short_key(run);
  const std::string where = origin_text(run.origin, context_.now_us());
  if (use_ == Use::build) {
    throw UsageError(
        fmt::format("run {} was {}, so that its recipe is not built unasked: see it with `flor "
                    "show {} --json`, then `flor build {} --trust`",
                    title(run), where, key, key));
  }
  throw UsageError(fmt::format(
      "run {} was {}, so that its program is not executed unasked ({}): name your own with `flor "
      "replay {} -- PROGRAM`, or add --trust",
      title(run), where, shortened(command_text(run), kRefusalWidth), key));
}

}  // namespace flor::cli
