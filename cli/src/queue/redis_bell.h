// Hears what other processes do to a queue in a Redis server.
#pragma once

#include "queue/redis_connection.h"

#include <memory>
#include <mutex>
#include <string>

namespace flor::cli {

/// Reads the stream of a queue's news through a connection of its own, and shows news by a
/// descriptor that stays the same. Thread-safe.
class RedisBell {
 public:
  RedisBell();
  ~RedisBell();
  RedisBell(const RedisBell&) = delete;
  RedisBell& operator=(const RedisBell&) = delete;

  int descriptor() const { return epoll_; }
  /// Listens, unless it already does, for news from now on. Called by one thread at a time. Throws
  /// what RedisConnection throws.
  void listen(const QueueAddress& address);
  /// Reads the news; never waits. True if some came from another owner, or the connection was lost;
  /// then nothing is heard until `listen`.
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
