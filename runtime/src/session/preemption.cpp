#include "session/preemption.h"

#include <array>

namespace flor::detail {
namespace {

static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array kSignals{SIGTERM, SIGUSR1, SIGINT};
volatile std::sig_atomic_t told_to_end = 0;

void set_default(int number) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(number, &action, nullptr);
}

void note(int number) {
  const bool insists = number == SIGTERM || number == SIGINT;
  if (insists && told_to_end) {
    set_default(number);
    ::raise(number);  // delivered when the handler returns
    return;
  }
  if (insists) told_to_end = 1;
  pending_signal.store(number, std::memory_order_relaxed);
}

}  // namespace

void watch_signals() noexcept {
  told_to_end = 0;
  pending_signal = 0;
  for (const int number : kSignals) {
    struct sigaction before{};
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;  // so that the program's own calls are not interrupted
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
}

void unwatch_signals() noexcept {
  for (const int number : kSignals) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == note) set_default(number);
  }
}

void die_of(int number) noexcept {
  set_default(number);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(number);
}

std::string_view signal_name(int number) {
  return number == SIGUSR1 ? "SIGUSR1" : number == SIGINT ? "Ctrl-C" : "SIGTERM";
}

}  // namespace flor::detail
