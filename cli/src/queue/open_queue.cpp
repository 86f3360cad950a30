#include "queue/open_queue.h"

#include "queue/address.h"
#include "queue/redis_queue.h"

namespace flor::cli {

std::unique_ptr<store::JobQueue> open_queue(const store::Store& store, const std::string& url,
                                            store::JobQueue::Clock clock) {
  if (url.empty()) return store::open_catalog_queue(store, std::move(clock));
  return std::make_unique<RedisQueue>(store, parse_queue_address(url), std::move(clock));
}

}  // namespace flor::cli
