// Shared by the parts of RedisQueue.
#pragma once

#include "queue/redis_queue.h"

#include <flor/store/digest.h>

#include <string>
#include <vector>

namespace flor::cli {

struct RedisQueue::Server {
  std::unique_ptr<RedisConnection> connection;
  std::string script;  ///< its name there
  std::string run;     ///< of the server: changes when it is started anew
  std::string life;    ///< of the queue: changes when it may have lost something
};

/// The answer of a queue that is in another life.
inline constexpr const char* kForgotten = "forgotten";

/// Equal everywhere for the same evaluator; a double holds it.
std::int64_t queue_evaluator_id(std::string_view spec, std::string_view digest);

}  // namespace flor::cli
