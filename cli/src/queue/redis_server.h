// The server behind a RedisQueue, for the source files that implement it.
#pragma once

#include "queue/redis_queue.h"

#include <flor/store/digest.h>

#include <string>
#include <vector>

namespace flor::cli {

struct RedisQueue::Server {
  std::unique_ptr<RedisConnection> connection;
  std::string script;  ///< name (SHA-1) of the script on the server
  std::string run;     ///< id of the server process: changes when it is restarted
  std::string life;    ///< id of the queue's life: changes when the queue may have lost entries
};

/// The script's answer if the queue is in another life than the caller says.
inline constexpr const char* kForgotten = "forgotten";

/// The number of an evaluator in the queue: the same on all machines, and small enough for a
/// double.
std::int64_t queue_evaluator_id(std::string_view spec, std::string_view digest);

}  // namespace flor::cli
