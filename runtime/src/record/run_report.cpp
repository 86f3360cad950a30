#include "record/run_report.h"

#include "base/text.h"
#include "index/catalog/resume_point.h"
#include "protocol/ranks.h"

#include <fmt/format.h>

namespace flor::detail {
namespace {

std::string key_of(const store::Run& run) { return run.key.substr(0, 8); }

std::string rank_of(const store::Run& run) {
  return run.start.rank ? fmt::format(" ({})", print_rank(*run.start.rank)) : std::string();
}

std::string epochs_of(const store::Run& run) {
  return fmt::format("{} {}", run.epochs, run.epochs == 1 ? "epoch" : "epochs");
}

std::string missing_of(const std::vector<store::Gap>& gaps) {
  const std::string missing = store::print_gaps(gaps);
  return missing.empty() ? missing : "; MISSING: " + missing;
}

/// The share of the computing time that recording took. Empty if the time is too short for a
/// percentage.
std::string overhead_text(const store::Recording& recording) {
  constexpr double kTooShort = 0.1;
  if (recording.computed < kTooShort) return {};
  return fmt::format(", overhead {:.1f} %", 100 * recording.cost / recording.computed);
}

}  // namespace

std::string how_to_follow(const store::Run& run) {
  return fmt::format("follow it with: flor plot {} --follow", key_of(run));
}

std::string print_begun(const store::Run& run, bool named, std::string_view forked) {
  return fmt::format("recording {}{} as run {}{}; {}", run.start.experiment,
                     named ? "" : ", the name last used here,", key_of(run), forked,
                     how_to_follow(run));
}

std::string print_resumed(const store::Run& run, const store::ResumePoint& point) {
  return fmt::format("resuming run {} of {} at {}; {}", key_of(run), run.start.experiment,
                     store::print_point(point), how_to_follow(run));
}

std::string print_recorded(const store::Run& run, const store::Recording& recording,
                           const std::vector<store::Gap>& gaps) {
  return fmt::format("recorded {} as run {}{}: {}, {}{}{}; next: flor show {}",
                     run.start.experiment, key_of(run), rank_of(run), epochs_of(run),
                     store::print_bytes(run.stored_bytes), overhead_text(recording),
                     missing_of(gaps), key_of(run));
}

std::string print_failed(const store::Run& run, const std::vector<store::Gap>& gaps) {
  return fmt::format(
      "run {} of {}{} failed after {}{}; what it recorded is kept (flor show {}), and --flor {} "
      "--flor_resume goes on with it",
      key_of(run), run.start.experiment, rank_of(run), epochs_of(run), missing_of(gaps),
      key_of(run), run.start.experiment);
}

}  // namespace flor::detail
