#include "conclusion.h"

#include "notice.h"
#include "process.h"

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
  if (flags.threads) return "likely cause: --flor_threads, results depend on the number of threads";
  const std::string unregistered =
      "state that a loop changes and that is not registered with flor::checkpoints or flor::with, "
      "or computing that is not deterministic";
  if (store::file_digest(executable()) != run.start.program_digest) {
    return fmt::format("likely cause: {}, or code that has changed since (`flor diff`)",
                       unregistered);
  }
  return fmt::format("likely cause: {}", unregistered);
}

}  // namespace

void conclude(const std::vector<Epochs>& epochs, double seconds, const WorkDone& work,
              const Comparison& comparison, const store::Run& run, const Flags& flags) {
  const std::string nested = print_nested(work.nested);
  say(Level::result,
      fmt::format("{} replayed in {}{}; {} checkpoints loaded ({})", print_epochs(epochs),
                  print_seconds(seconds), nested.empty() ? "" : "; " + nested, work.restored, print_bytes(work.restored_bytes)));
  const store::ReplayResult result = comparison.result();
  const std::string counts =
      fmt::format("{} values and {} states", result.values_compared, result.states_compared);
  const std::string found =
      result.values_found == 1 ? "1 new value" : fmt::format("{} new values", result.values_found);
  if (result.values_found == 0 && flags.probes.empty() && flags.plugin.empty() && !nested.empty()) {
    const auto skipped = std::ranges::find_if(
        work.nested, [](const auto& entry) { return entry.second.skipped > 0; });
    if (skipped != work.nested.end()) {
      say(Level::result, fmt::format("nothing new was logged; to see what is logged inside {}, add "
                                     "--flor_probe {}",
                                     skipped->first, skipped->first));
    }
  }
  switch (result.verdict) {
    case store::Verdict::exact:
      say(Level::result, fmt::format("exact: {} equal the record; {}", counts, found));
      break;
    case store::Verdict::differs:
      for (const std::string& line : comparison.lines()) {
        say(Level::error, fmt::format("differs: {}", line));
      }
      say(Level::error,
          fmt::format("DIFFERS FROM THE RECORD: {} of {} values and {} of {} states; {}; {}",
                      result.values_different, result.values_compared, result.states_different,
                      result.states_compared, found, likely_cause(run, flags)));
      break;
    default:
      if (flags.shows_what_is_stored()) {
        say(Level::result,
            fmt::format("the plug-in saw the states as they were stored; {}", found));
        break;
      }
      say(Level::result, fmt::format("unchecked: nothing that was recorded was computed again, so "
                                     "nothing could be compared; {}",
                                     found));
  }
}

}  // namespace flor::detail
