#include "record/early_end.h"

#include "base/notice.h"
#include "index/catalog/resume_point.h"
#include "resume/continuation.h"
#include "session/preemption.h"
#include "session/runtime.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace flor::detail {

void EarlyEnd::enter_loop() {
  began_ = true;
  in_loop_ = true;
}

// ---------------------------------------------------------------------------------------------
// A resumed program that is not the recorded one.

void EarlyEnd::refuse(const std::string& message) {
  parts_.storage.rows().write([&](store::Catalog& catalog) {
    catalog.interrupt_run(parts_.run.id, message);
    return true;
  });
  parts_.group.close();
  parts_.background->post([this] { parts_.storage.close(); });
  parts_.background->drain();
  end_process(ExitStatus::differs);
}

void EarlyEnd::refuse_inside(const std::string& message, const std::string& remedy) {
  parts_.background->post([this, message, remedy] { end_inside(message, remedy); });
  parts_.background->drain();
  end_process(ExitStatus::preempted);  // the background thread has ended the process already
}

void EarlyEnd::end_inside(const std::string& message, const std::string& remedy) noexcept {
  try {
    parts_.storage.interrupt(message, RunStorage::Steps::dropped);
    say(Level::error, fmt::format("{}; {}", message, remedy));
  } catch (const std::exception& error) {
    say(Level::error, fmt::format("{}; that could not be recorded: {}", message, error.what()));
  }
  parts_.group.close();
  parts_.storage.close();
  end_process(ExitStatus::preempted);
}

// ---------------------------------------------------------------------------------------------
// Signals.

EarlyEnd::Reaction EarlyEnd::answer(int signal) {
  if (signal == 0 || leaving_) return Reaction::none;
  if (!in_loop_) {
    leaving_ = true;
    return Reaction::end_now;
  }
  if (announced_) return Reaction::none;
  announced_ = true;
  return Reaction::end_of_step;
}

void EarlyEnd::heed(int signal) {
  const Reaction answered = answer(signal);
  if (answered == Reaction::none) return;
  if (answered == Reaction::end_now) {
    return parts_.background->post([this] {
      end_preempted(began_ ? "a place between its loops" : "its start, before the first loop");
    });
  }
  const std::string_view name = signal_name(signal);
  say(Level::warn,
      fmt::format("{}: the run is checkpointed at the next step, and ends{}", name,
                  signal == SIGUSR1
                      ? ""
                      : fmt::format("; another {} ends it at once, without that", name)));
}

void EarlyEnd::preempt(const std::string& where) {
  parts_.background->post([this, where] { end_preempted(where); });
  parts_.background->drain();
  end_process(ExitStatus::preempted);  // the background thread has ended the process already
}

std::string EarlyEnd::interrupt(int signal, const std::string& where) {
  const store::Run& run = parts_.run;
  const std::string name =
      signal != 0 ? std::string(signal_name(signal)) : "a signal to another rank";
  const std::string message =
      fmt::format("{} by {} at {}", signal == SIGINT ? "interrupted" : "preempted", name, where);
  parts_.storage.interrupt(message, RunStorage::Steps::kept);
  const bool inside = may_resume_inside(*parts_.store, run.id);
  // How far the other ranks have come is only known when they have ended, too.
  return fmt::format("{}; --flor {} --flor_resume goes on with run {} at {}{}", message,
                     run.start.experiment, run.key.substr(0, 8),
                     store::print_point(plan_resume(*parts_.store, run.id, inside).point),
                     parts_.group.ranks() ? ", or earlier if another rank is not that far" : "");
}

void EarlyEnd::end_preempted(const std::string& where) noexcept {
  const store::Run& run = parts_.run;
  try {
    say(Level::result, interrupt(pending_signal, where));
  } catch (const std::exception& error) {
    say(Level::error,
        fmt::format("the interruption of run {} could not be recorded: {}; --flor {} --flor_resume "
                    "goes on after what is stored of it",
                    run.key.substr(0, 8), error.what(), run.start.experiment));
  }
  parts_.group.close();
  parts_.storage.close();
  if (pending_signal == SIGINT) {
    flush_streams();
    die_of(SIGINT);
  }
  end_process(ExitStatus::preempted);
}

}  // namespace flor::detail
