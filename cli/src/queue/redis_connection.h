// One connection to a Redis server.
#pragma once

#include "queue/address.h"
#include "queue/jobs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct redisContext;

namespace flor::cli {

struct RedisReply {
  std::string text = {};               ///< of texts, and of numbers
  std::vector<RedisReply> items = {};  ///< of arrays
  bool is_null = false;

  std::int64_t number() const;  ///< throws Error if it is none
};

/// The server has answered with an error. `code` is its first word.
class RedisError : public Error {
 public:
  explicit RedisError(const std::string& message) : Error(message) {}
  std::string code() const;
};

/// Not thread-safe. The program ignores SIGPIPE. After QueueUnreachable the connection is of no use
/// any more.
class RedisConnection {
 public:
  /// Throws QueueUnreachable, which names the server and a remedy; Error if the server wants a
  /// password, or another one.
  explicit RedisConnection(const QueueAddress& address);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// Throws RedisError, or QueueUnreachable if there is no answer within 5 seconds, or the server
  /// cannot do its work at the moment.
  RedisReply call(const std::vector<std::string>& words);
  /// Whether the latest call had no answer in time.
  bool is_slow() const { return is_slow_; }

  // These never wait, once `listen` was called; `call` must not be used then.
  void listen();
  int descriptor() const;
  void send(const std::vector<std::string>& words);
  /// An answer, if one has come.
  std::optional<RedisReply> receive();

 private:
  [[noreturn]] void fail(const std::string& why) const;
  void log_in(const QueueAddress& address);
  void check(const RedisReply& reply, int type) const;

  std::string name_;
  bool is_slow_ = false;
  struct Deleter {
    void operator()(redisContext* context) const;
  };
  std::unique_ptr<redisContext, Deleter> context_;
};

}  // namespace flor::cli
