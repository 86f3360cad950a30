#include "queue/redis_connection.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace flor::cli {
namespace {

constexpr timeval kConnectTimeout{2, 0}, kCallTimeout{5, 0};

/// Errors that may pass soon: the server is loading its data, is a replica whose master is gone, or
/// has no memory left.
constexpr std::array<std::string_view, 9> kPassing{"LOADING", "MASTERDOWN", "READONLY",
                                                   "MISCONF", "OOM",        "CLUSTERDOWN",
                                                   "BUSY",    "TRYAGAIN",   "NOREPLICAS"};

struct ReplyDeleter {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using RawReply = std::unique_ptr<redisReply, ReplyDeleter>;

RedisReply copied(const redisReply& raw) {
  RedisReply reply;
  switch (raw.type) {
    case REDIS_REPLY_INTEGER:
      reply.text = std::to_string(raw.integer);
      break;
    case REDIS_REPLY_NIL:
      reply.is_null = true;
      break;
    case REDIS_REPLY_ARRAY:
      reply.items.reserve(raw.elements);
      for (std::size_t i = 0; i < raw.elements; ++i) {
        reply.items.push_back(copied(*raw.element[i]));
      }
      break;
    default:
      reply.text.assign(raw.str, raw.len);
  }
  return reply;
}

struct Words {
  explicit Words(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
  }
  int count() const { return static_cast<int>(texts.size()); }
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
};

}  // namespace

std::int64_t RedisReply::number() const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    throw Error(fmt::format("the queue's server answered '{}' instead of a number", text));
  }
  return value;
}

std::string RedisError::code() const {
  const std::string_view text = what();
  return std::string(text.substr(0, text.find(' ')));
}

void RedisConnection::Deleter::operator()(redisContext* context) const { ::redisFree(context); }

RedisConnection::RedisConnection(const QueueAddress& address)
    : name_(address.name()),
      context_(::redisConnectWithTimeout(address.host.c_str(), address.port, kConnectTimeout)) {
  if (!context_) throw std::bad_alloc();
  if (context_->err != 0) fail(context_->errstr);
  ::redisSetTimeout(context_.get(), kCallTimeout);
  ::redisEnableKeepAlive(context_.get());
  ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  log_in(address);
}

RedisConnection::~RedisConnection() = default;

void RedisConnection::fail(const std::string& why) const {
  throw store::QueueUnreachable(
      fmt::format("the queue {} does not answer ({}): is its server running?", name_, why));
}

void RedisConnection::log_in(const QueueAddress& address) {
  try {
    if (!address.password.empty()) {
      if (address.user.empty()) {
        call({"AUTH", address.password});
      } else {
        call({"AUTH", address.user, address.password});
      }
    }
    call({"SELECT", std::to_string(address.database)});
  } catch (const RedisError& error) {
    throw Error(fmt::format("the queue {} refuses ({}): check user, password and database", name_,
                            error.what()));
  }
}

RedisReply RedisConnection::call(const std::vector<std::string>& words) {
  const Words raw(words);
  void* answer = ::redisCommandArgv(context_.get(), raw.count(),
                                    const_cast<const char**>(raw.texts.data()), raw.sizes.data());
  if (answer == nullptr) {
    is_slow_ = context_->err == REDIS_ERR_IO && errno == EAGAIN;
    fail(is_slow_ ? "it takes too long" : context_->errstr);
  }
  const RawReply owned(static_cast<redisReply*>(answer));
  RedisReply reply = copied(*owned);
  check(reply, owned->type);
  return reply;
}

void RedisConnection::check(const RedisReply& reply, int type) const {
  if (type != REDIS_REPLY_ERROR) return;
  const RedisError error(reply.text);
  if (std::ranges::find(kPassing, error.code()) != kPassing.end()) fail(reply.text);
  throw error;
}

void RedisConnection::listen() {
  context_->flags &= ~REDIS_BLOCK;
  ::fcntl(context_->fd, F_SETFL, O_NONBLOCK);
}

int RedisConnection::descriptor() const { return context_->fd; }

void RedisConnection::send(const std::vector<std::string>& words) {
  const Words raw(words);
  ::redisAppendCommandArgv(context_.get(), raw.count(), const_cast<const char**>(raw.texts.data()),
                           raw.sizes.data());
  int is_done = 0;
  // A command is short, so it fits into the empty send buffer of the socket in one write.
  if (::redisBufferWrite(context_.get(), &is_done) != REDIS_OK) fail(context_->errstr);
}

std::optional<RedisReply> RedisConnection::receive() {
  void* answer = nullptr;
  if (::redisGetReplyFromReader(context_.get(), &answer) != REDIS_OK) fail(context_->errstr);
  if (answer == nullptr) {
    if (::redisBufferRead(context_.get()) != REDIS_OK) fail(context_->errstr);
    if (::redisGetReplyFromReader(context_.get(), &answer) != REDIS_OK) fail(context_->errstr);
  }
  if (answer == nullptr) return std::nullopt;
  const RawReply owned(static_cast<redisReply*>(answer));
  RedisReply reply = copied(*owned);
  check(reply, owned->type);
  return reply;
}

}  // namespace flor::cli
