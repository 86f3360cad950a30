// One connection to a Redis server.
#pragma once

#include "queue/address.h"
#include "queue/job_queue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct redisContext;

namespace flor::cli {

struct RedisReply {
  std::string text = {};               ///< of a string or a number
  std::vector<RedisReply> items = {};  ///< of an array
  bool is_null = false;

  std::int64_t number() const;  ///< the integer that `text` spells; throws Error if it is none
};

/// Thrown when the server has answered with an error. `code` is the first word of the answer.
class RedisError : public Error {
 public:
  explicit RedisError(const std::string& message) : Error(message) {}
  std::string code() const;
};

/// A connection to the server. The program must ignore SIGPIPE. After QueueUnreachable was thrown
/// the connection cannot be used any more. Not thread-safe.
class RedisConnection {
 public:
  /// Connects and logs in. Throws QueueUnreachable, which names the server and a remedy; Error if
  /// the server wants a password, or another one.
  explicit RedisConnection(const QueueAddress& address);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  /// Sends a command and waits for the answer. Throws RedisError if the answer is an error,
  /// QueueUnreachable if there is no answer within 5 seconds or the server is temporarily unable to
  /// work.
  RedisReply call(const std::vector<std::string>& words);
  /// Whether the latest call timed out.
  bool is_slow() const { return is_slow_; }

  // For asynchronous use: after `listen`, the functions below never wait, and `call` must not be
  // used.
  void listen();
  int descriptor() const;
  void send(const std::vector<std::string>& words);
  /// The next answer that has arrived, or nullopt.
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
