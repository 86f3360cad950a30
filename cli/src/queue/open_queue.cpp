#include "queue/open_queue.h"

#include "base/late_library.h"
#include "queue/address.h"
#include "queue/redis_queue.h"

namespace flor::cli {

std::unique_ptr<store::JobQueue> open_queue(const store::Store& store, const std::string& url,
                                            store::JobQueue::Clock clock) {
  if (url.empty()) return store::open_home_queue(store, std::move(clock));
  QueueAddress address = parse_queue_address(url);
#ifdef FLOR_HAS_QUEUE
  return std::make_unique<RedisQueue>(store, std::move(address), std::move(clock));
#else
  store::throw_left_out("the queue on a Redis server", "libhiredis-dev");
#endif
}

}  // namespace flor::cli
