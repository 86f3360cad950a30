#include "replay/replay_task.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "worker/worker.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

namespace flor::detail {
namespace {

ProgramStart own_start(const Flags& flags) {
  ProgramStart start{
      .program = program_to_start(), .directory = std::filesystem::current_path(), .command = {}};
  start.command.push_back(flags.command.empty() || hosted_program() ? start.program.string()
                                                                    : flags.command[0]);
  start.command.insert(start.command.end(), flags.arguments.begin(), flags.arguments.end());
  return start;
}

/// The epochs that the flags choose, among those that the run itself has computed.
std::vector<Epochs> chosen_epochs(const TaskFacts& facts) {
  const Flags& flags = facts.flags;
  const std::int64_t first = facts.record.first_epoch(), all = facts.record.epochs();
  if (flags.asked.epochs.empty()) {
    const Epochs own = segment_of(all - first, flags.segment, flags.segments);
    return {{first + own.first, first + own.end}};
  }
  std::vector<Epochs> epochs = within_run(flags.asked.epochs, all);
  if (const auto fork = facts.store.catalog().fork(facts.run.id)) {
    refuse_copied(epochs, first, fork->parent);
  }
  return epochs;
}

}  // namespace

std::vector<std::string> recorded_arguments(const Flags& flags) {
  return own_arguments(store::RecordedCommand(flags.command).words());
}

ReplayTask::ReplayTask(const TaskFacts& facts) : facts_(facts), start_(own_start(facts.flags)) {
  const std::string digest = asking_digest();
  if (facts_.flags.worker_socket < 0) {
    take_epochs(digest);
    return;
  }
  auto handed_out =
      std::make_unique<HandedOut>(facts_.flags.worker_socket, digest, facts_.plugin.digest());
  first_piece_ = handed_out->next({});
  id_ = handed_out->replay();
  empty_ = first_piece_.empty() && handed_out->may_end(0);
  assignment_ = std::move(handed_out);
  announce();
}

void ReplayTask::take_epochs(const std::string& digest) {
  const Flags& flags = facts_.flags;
  const Record& record = facts_.record;
  epochs_ = chosen_epochs(facts_);
  std::erase_if(epochs_, [](Epochs range) { return range.empty(); });
  empty_ = epochs_.empty() && flags.segment > 0;
  announce();
  if (empty_) return;
  assignment_ = flags.shows_what_is_stored() || !flags.asked.steps.empty()
                    ? epochs_alone(epochs_)
                    : fixed_assignment(epochs_, record.main_loops(), record.first_epoch());
  first_piece_ = assignment_->next({});
  id_ = facts_.store.catalog().add_replay(
      {.run = facts_.run.id,
       .started_us = now_us(),
       .segment = flags.segment,
       .segments = flags.segments,
       .first_epoch = epochs_.empty() ? 0 : epochs_.front().first,
       .last_epoch = epochs_.empty() ? -1 : epochs_.back().end - 1,
       .strong = facts_.strong,
       .probes =
           described_probes(facts_.probes.loops(), flags.plugin, flags.instead, flags.asked.steps),
       .program_digest = store::file_digest(program_file()),
       .command = flags.command,
       .question = question_of(digest, recorded_arguments(flags), question())});
}

/// A digest of the question that this process answers. It includes the loops found by comparing
/// sources, since the sources may have changed although the program has not.
std::string ReplayTask::asking_digest() const {
  std::string digest = facts_.program_digest;
  if (!facts_.flags.probes.empty() || facts_.probes.loops().empty()) return digest;
  std::vector<std::string> found = facts_.probes.loops();
  std::ranges::sort(found);
  for (const std::string& loop : found) digest += "\n" + loop;
  return store::digest_of(std::as_bytes(std::span(digest))).hex();
}

WorkerOrder ReplayTask::question() const {
  const Flags& flags = facts_.flags;
  return {.run = {},
          .home = {},
          .probes = flags.probes,
          .no_probe = flags.no_probe,
          .strong = flags.strong,
          .instead = flags.instead,
          .cores = {},
          .plugin = flags.plugin,
          .plugin_digest = facts_.plugin.digest(),
          .steps = flags.asked.steps};
}

std::unique_ptr<Findings> ReplayTask::make_findings() {
  if (!facts_.flags.ordered.hands_in) {
    return std::make_unique<StoredFindings>(facts_.store, facts_.run.id, id_);
  }
  return std::make_unique<HandedFindings>(dynamic_cast<HandedOut&>(*assignment_));
}

void ReplayTask::announce() const {
  const Flags& flags = facts_.flags;
  const store::Run& run = facts_.run;
  const std::int64_t recorded = facts_.record.epochs();
  const std::string begin =
      fmt::format("replaying run {} of {}", run.key.substr(0, 8), run.start.experiment);
  if (flags.worker_socket >= 0) {
    say(Level::result, fmt::format("{}: epochs as flor replay hands them out", begin));
    return;
  }
  const std::string epochs =
      fmt::format("{} of {}", print_epochs(epochs_),
                  recorded == 1 ? "1 recorded epoch" : fmt::format("{} recorded epochs", recorded));
  const std::string segment =
      flags.segments == 1
          ? std::string()
          : fmt::format(" (segment {} of {}, counted from 0)", flags.segment, flags.segments);
  say(Level::result,
      fmt::format(
          "{}: {}{}{}{}{}{}{}", begin, epochs, segment,
          flags.asked.steps.empty() ? ""
                                    : fmt::format(", {} alone", print_steps(flags.asked.steps)),
          facts_.strong ? ", walking there from the start" : "",
          flags.probes.empty() ? ""
                               : fmt::format(", stepping into {}", fmt::join(flags.probes, ", ")),
          facts_.plugin.file() ? fmt::format(", for {}", facts_.plugin.file()->name()) : "",
          flags.instead.arguments.empty() ? ""
                                          : fmt::format(", with {} instead of what was recorded",
                                                        flags.instead.shown_arguments())));
  if (empty_) {
    say(Level::result, fmt::format("nothing to do: {} segments share {} epochs, and this one is "
                                   "empty",
                                   flags.segments, recorded));
  } else if (run.state == store::RunState::interrupted) {
    say(Level::result, "the run was interrupted: its complete epochs are replayed");
  }
}

}  // namespace flor::detail
