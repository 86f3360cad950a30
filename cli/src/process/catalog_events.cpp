#include "process/catalog_events.h"

#include "checkpoint/named_checkpoints.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <thread>

namespace flor::cli {
namespace {

/// How long to wait after an event, because the journal is announced before its content can be
/// read.
constexpr std::chrono::milliseconds kSettle{50};

}  // namespace

CatalogEvents::CatalogEvents(const store::Store& store)
    : store_(store), inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  store::hang_journal_bell(store);
  ::inotify_add_watch(inotify_, store.home().c_str(), IN_MODIFY | IN_ATTRIB);
}

CatalogEvents::~CatalogEvents() {
  if (inotify_ >= 0) ::close(inotify_);
}

void CatalogEvents::wait(std::chrono::milliseconds at_most) const {
  pollfd waiting{inotify_, POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(at_most.count())) > 0) {
    std::this_thread::sleep_for(kSettle);
  }
  char events[4096];
  while (::read(inotify_, events, sizeof events) > 0) {
  }
  store_.catalog().follow();
}

}  // namespace flor::cli
