// Hears what others do to a queue in a Redis server.
#pragma once

#include "queue/redis_connection.h"

#include <memory>
#include <mutex>
#include <string>

namespace flor::cli {

/// Reads the stream of a queue's news through a connection of its own, and shows with a descriptor
/// that stays the same that there are some. Thread-safe.
class RedisBell {
 public:
  RedisBell();
  ~RedisBell();
  RedisBell(const RedisBell&) = delete;
  RedisBell& operator=(const RedisBell&) = delete;

  int descriptor() const { return epoll_; }
  /// Listens, unless it does already, for what comes from now on. By one thread at a time. Throws
  /// what RedisConnection throws.
  void listen(const QueueAddress& address);
  /// Never waits. True if there was something that does not come from `owner`, or the connection
  /// was lost; then nothing is heard until `listen`.
  bool hush();
  void set_owner(const std::string& owner);

 private:
  void ask();

  int epoll_ = -1;
  std::mutex mutex_;
  std::unique_ptr<RedisConnection> connection_;
  std::string last_;  ///< number of the latest news
  std::string owner_;
};

}  // namespace flor::cli
