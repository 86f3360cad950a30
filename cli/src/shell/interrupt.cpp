#include "shell/interrupt.h"

#include <atomic>

namespace flor::cli {
namespace {

std::atomic<bool> has_come = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

Interruptible::Interruptible() {
  has_come = false;
  struct sigaction action{};
  action.sa_handler = [](int) { has_come = true; };
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &interrupt_);
  ::sigaction(SIGTERM, &action, &terminate_);
}

Interruptible::~Interruptible() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

bool Interruptible::came() noexcept { return has_come; }

}  // namespace flor::cli
