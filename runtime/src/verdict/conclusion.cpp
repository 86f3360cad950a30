#include "verdict/conclusion.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace flor::detail {
namespace {

std::string likely_cause(const store::Run& run, const Flags& flags) {
  const auto& now = initial_environment();
  const auto& then = run.start.environment;
  if (const auto changes = changed_facts(then, now); !changes.empty()) {
    const auto& [name, before, after] = changes.front();
    return fmt::format("likely cause: {} was {} then and is {} now", name, before, after);
  }
  if (flags.instead.threads)
    return "likely cause: --flor_threads, results depend on the number of threads";
  if (const std::string arguments = flags.instead.shown_arguments(); !arguments.empty()) {
    return fmt::format("likely cause: {} instead of what was recorded", arguments);
  }
  const std::string unregistered =
      "state that a loop changes and that is not registered with flor::checkpoints or flor::with, "
      "or computing that is not deterministic";
  if (store::file_digest(program_file()) != run.start.program_digest) {
    return fmt::format("likely cause: {}, or code that has changed since (`flor diff`)",
                       unregistered);
  }
  return fmt::format("likely cause: {}", unregistered);
}

}  // namespace

void conclude_work(const std::vector<Epochs>& epochs, double seconds, const WorkDone& work,
                   const FoundValues& found, const Flags& flags) {
  std::string nested = print_nested(work.nested);
  if (!nested.empty()) nested.insert(0, "; ");
  if (work.caught_up > 0) {
    nested += fmt::format("; {} {} executed on the way", work.caught_up,
                          work.caught_up == 1 ? "epoch" : "epochs");
  }
  say(Level::result, fmt::format("{} replayed in {}{}; {} {} loaded ({})", print_epochs(epochs),
                                 print_seconds(seconds), nested, work.restored,
                                 work.restored == 1 ? "checkpoint" : "checkpoints",
                                 store::print_bytes(work.restored_bytes)));
  if (found.count() > 0 || !flags.probes.empty() || !flags.plugin.empty()) return;
  const auto skipped =
      std::ranges::find_if(work.nested, [](const auto& entry) { return entry.second.skipped > 0; });
  if (skipped == work.nested.end()) return;
  say(Level::result, fmt::format("nothing new was logged; to see what is logged inside {}, add "
                                 "--flor_probe {}",
                                 skipped->first, skipped->first));
}

void conclude(const store::ReplayResult& result, const FoundValues& found,
              const Comparison& comparison, const store::Run& run, const Flags& flags) {
  const std::string text = verdict_text(result, found, flags.shows_what_is_stored());
  if (result.verdict != store::Verdict::differs) {
    const bool doubtful = result.verdict == store::Verdict::doubtful;
    return say(doubtful ? Level::warn : Level::result, text);
  }
  for (const std::string& line : comparison.lines()) {
    say(Level::error, fmt::format("differs: {}", line));
  }
  const std::string cause =
      comparison.is_doubted() ? "likely cause: what was named above" : likely_cause(run, flags);
  say(Level::error, fmt::format("{}; {}", text, cause));
}

}  // namespace flor::detail
