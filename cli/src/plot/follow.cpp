#include "plot/follow.h"

#include "process/catalog_events.h"
#include "shell/interrupt.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// The longest wait between looks. A killed run writes nothing more, so only its released lock
/// shows that it has ended.
constexpr milliseconds kPause{1000};
constexpr milliseconds kBetween{100};

/// Waits in short steps, because a signal that comes just before a wait begins does not interrupt
/// it.
void pause(const CatalogEvents& events, milliseconds least) {
  const auto begun = Clock::now();
  while (!Interruptible::came() && Clock::now() - begun < least) {
    std::this_thread::sleep_for(std::min(least, kBetween));
  }
  for (auto left = kPause; !Interruptible::came() && left.count() > 0; left -= kBetween) {
    const auto before = Clock::now();
    events.wait(kBetween);
    if (Clock::now() - before < kBetween) return;
  }
}

}  // namespace

bool follow(const store::Store& store, const std::function<bool()>& draw) {
  const Interruptible guard;
  const CatalogEvents events(store);
  while (!Interruptible::came()) {
    const auto begun = Clock::now();
    if (!draw()) {
      // The last picture was drawn before everything that the run wrote was read.
      store.catalog().follow();
      draw();
      return true;
    }
    const auto cost = std::chrono::duration_cast<milliseconds>(Clock::now() - begun);
    pause(events, std::max(kBetween, 3 * cost));
  }
  return false;
}

}  // namespace flor::cli
