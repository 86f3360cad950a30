// Learns when other processes change a queue in a Redis server.
#pragma once

#include "queue/redis_connection.h"

#include <memory>
#include <mutex>
#include <string>

namespace flor::cli {

/// Follows the stream of changes of a queue (its news) through a connection of its own.
/// `descriptor`, which stays the same across reconnections, is readable when there may be news.
/// Thread-safe.
class RedisBell {
 public:
  RedisBell();
  ~RedisBell();
  RedisBell(const RedisBell&) = delete;
  RedisBell& operator=(const RedisBell&) = delete;

  int descriptor() const { return epoll_; }
  /// Begins to listen for news from this moment, unless it listens already. Called by one thread at
  /// a time. Throws what RedisConnection throws.
  void listen(const QueueAddress& address);
  /// Reads the news; never waits. Returns true if some came from another owner, or if the
  /// connection was lost; after a loss nothing is heard until `listen` is called.
  bool hush();
  void set_owner(const std::string& owner);

 private:
  void ask();

  int epoll_ = -1;
  std::mutex mutex_;
  std::unique_ptr<RedisConnection> connection_;
  std::string last_;  ///< number of the latest news that was read
  std::string owner_;
};

}  // namespace flor::cli
