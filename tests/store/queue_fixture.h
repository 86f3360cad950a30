// The queues that a test runs with: that of the home, and one in a real Redis server.
#pragma once

#include "support/redis_server.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <string>

namespace flor::testing {

enum class Queue { home, redis };

inline const auto kAllQueues = ::testing::Values(Queue::home, Queue::redis);
inline std::string queue_name(const ::testing::TestParamInfo<Queue>& info) {
  return info.param == Queue::home ? "home" : "redis";
}

/// The URL of a queue without jobs, in a server that lasts as long as the process; nothing if there
/// is no Redis on this machine. The home's has no URL, and is as empty as the store.
inline std::optional<std::string> empty_queue(Queue queue) {
  if (queue == Queue::home) return "";
  if (!RedisServer::is_installed()) return std::nullopt;
  ::signal(SIGPIPE, SIG_IGN);  // as the program has it
  static RedisServer server({"--save", ""});
  server.ask("FLUSHALL");
  return server.name();
}

}  // namespace flor::testing
