#include "resume/resumer.h"

#include "base/notice.h"
#include "maintain/shared_view.h"
#include "resume/unregistered.h"

#include <fmt/format.h>

#include <utility>

namespace flor::detail {
namespace {

Clock::duration duration_of(double in_seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(in_seconds));
}

}  // namespace

void Resumer::lead(Continuation from) {
  way_.know(std::move(from.on_way));
  if (!from.passes_by()) return;
  use_ = std::move(from.use);
  logs_outside_ = from.logs_outside;
  if (from.check.iteration < 0) say(Level::result, "not checked: " + from.check.why_not);
  resumption_ = std::make_unique<Resumption>(*parts_.store, parts_.run, std::move(from.point),
                                             std::move(from.rehearsal), std::move(from.check),
                                             from.exact, parts_.registry);
  if (!logs_outside_) parts_.journal.suppress(true);
}

void Resumer::stop() {
  resumption_.reset();
  use_.reset();
}

void Resumer::reached() {
  rehearsing_ = false;
  parts_.journal.suppress(false);
  stop();
}

// ---------------------------------------------------------------------------------------------
// Main loops.

std::optional<LoopScope::Start> Resumer::begin_main(Frame& frame, bool random_access) {
  if (!resumption_) return std::nullopt;
  const auto start = resumption_->begin_main(frame, random_access);
  if (start) parts_.journal.suppress(true);  // a fork logs outside of loops as any new run does
  return start;
}

void Resumer::arrive(const Frame& frame, bool gone) {
  if (resumption_) resumption_->arrive(frame, gone);
}

void Resumer::enter(Frame& main) {
  if (!resumption_) return;
  rehearsing_ = resumption_->rehearses(main);
  if (rehearsing_) {
    if (resumption_->checks_all_of(main)) begin_check();
    return;
  }
  if (resumption_->point().loop.empty()) return reached();
  // The code before the nested loop is executed again, and what it logs is taken again.
  parts_.journal.suppress(false);
  way_.enter();
  main.iteration.began -= duration_of(resumption_->elapsed().iteration);
}

std::optional<LoopScope::Move> Resumer::leave(Frame& main) {
  if (!resumption_) return std::nullopt;
  if (resumption_->rehearses(main)) {
    const bool checked = resumption_->checks_at_end(main);
    const LoopScope::Move move = resumption_->leave_rehearsed(main);
    if (checked) conclude_check();
    return move;
  }
  throw Error(fmt::format(
      "the run was interrupted in loop {}, to which the program does not come any more: "
      "resume with the program that was interrupted",
      resumption_->point().loop));
}

void Resumer::end_main(const Frame& main, LoopEnd how) {
  const store::ResumePoint& point = resumption_->point();
  if (!main.visited) {
    if (!point.boundary && main.ordinal + 1 == point.main_loop) reached();
    if (logs_outside_) parts_.journal.suppress(false);
    return;
  }
  if (how == LoopEnd::broke || main.index < point.iteration) {
    throw Error(
        fmt::format("loop {} ended before epoch {}, in which the run was interrupted: resume with "
                    "the program that was interrupted",
                    main.component, point.epoch));
  }
  reached();  // the iteration had nothing left to do
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

std::optional<LoopScope::Start> Resumer::begin_nested(const Frame& main, Frame& nested) {
  if (!resumption_) return std::nullopt;
  const auto start = resumption_->begin_nested(main, nested);
  if (start && nested.arriving) parts_.journal.suppress(true);
  return start;
}

void Resumer::reach(Frame& nested) {
  if (way_.entered()) end_way();
  if (resumption_->checks_stretch()) return begin_check();
  nested.opened_at -= duration_of(resumption_->elapsed().loop);
  reached();
}

std::int64_t Resumer::leave_nested(Frame& main, Frame& nested) {
  if (!checking_ || !resumption_->leave_checked(main, nested)) return 1;
  conclude_check();
  const std::int64_t step = resumption_->point().step;
  // The time of the check is not part of the recorded time.
  nested.opened_at = Clock::now();
  main.iteration.began = Clock::now() - duration_of(resumption_->elapsed().iteration);
  if (nested.index == step) {
    reach(nested);
    return 1;
  }
  nested.arriving = true;
  const std::int64_t executed = std::exchange(nested.index, step) - 1;
  return step - executed;
}

bool Resumer::end_nested(const Frame& main, const Frame& nested, LoopEnd how) {
  if (!checking_) return false;
  if (resumption_->end_checked(main, nested, how)) conclude_check();
  return true;
}

/// Ends the way to a step. Reports a local that has changed and that no checkpoint keeps, since a
/// nested loop before the point had changed it.
void Resumer::end_way() {
  parts_.keep_logged();
  way_.leave();
  const std::string& difference = way_.difference();
  if (difference.empty()) return way_.forget();
  if (!parts_.flags.check) {
    say(Level::warn, "what leads to the step is not what was recorded, which stays: " + difference);
    return way_.forget();
  }
  const std::int64_t epoch = resumption_->point().epoch;
  parts_.refuse_inside(
      fmt::format("not resumed inside epoch {}, since what leads there is not what was recorded: "
                  "{}",
                  epoch, difference),
      fmt::format("the same command goes on at the beginning of epoch {}; flor::with keeps what a "
                  "nested loop leaves behind",
                  epoch));
}

// ---------------------------------------------------------------------------------------------
// The check.

/// Flushes earlier values first. They are not checked, but later values are numbered after them.
void Resumer::begin_check() {
  parts_.keep_logged();
  parts_.journal.suppress(false);
  checking_ = true;
  resumption_->check().begin();
}

void Resumer::check(const LogBatch& batch) {
  ResumeCheck& check = resumption_->check();
  for_each_value(
      parts_.journal, batch, check.ordinals(),
      [&](const LoggedContent& logged) {
        std::string reference = store::item_digest(logged.content).hex();
        check.values().know(reference, logged.item, logged.content);
        return reference;
      },
      [&](const LogRecord&, const store::Value& value) { check.keep(value); });
}

void Resumer::conclude_check() {
  parts_.journal.suppress(true);
  parts_.keep_logged();
  checking_ = false;
  ResumeCheck& check = resumption_->check();
  check.conclude();
  if (check.passed()) return say(Level::result, "checked: " + check.outcome());
  const std::string suspects = print_suspects();
  const std::string message = fmt::format(
      "not resumed: epoch {} computed again is not what was recorded: {}{}", check.epoch(),
      check.difference(), suspects.empty() ? "" : "; most likely because of " + suspects);
  say(Level::error,
      fmt::format("{}; register with flor::checkpoints what the loop changes and begin a new run, "
                  "or go on with run {} all the same: --flor_resume --flor_check none",
                  message, parts_.run.key.substr(0, 8)));
  stop();
  parts_.refuse(message);
}

}  // namespace flor::detail
