#include "queue/redis_bell.h"

#include <flor/store/error.h>

#include <sys/epoll.h>
#include <unistd.h>

namespace flor::cli {
namespace {

constexpr const char* kNews = "{flor}:news";

}  // namespace

RedisBell::RedisBell() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

RedisBell::~RedisBell() {
  if (epoll_ >= 0) ::close(epoll_);
}

void RedisBell::set_owner(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  owner_ = owner;
}

void RedisBell::listen(const QueueAddress& address) {
  {
    const std::lock_guard lock(mutex_);
    if (connection_) return;
  }
  auto connection = std::make_unique<RedisConnection>(address);
  const RedisReply latest = connection->call({"XREVRANGE", kNews, "+", "-", "COUNT", "1"});
  connection->listen();
  const std::lock_guard lock(mutex_);
  last_ = latest.items.empty() ? "0-0" : latest.items.at(0).items.at(0).text;
  connection_ = std::move(connection);
  ask();
  epoll_event event{.events = EPOLLIN, .data = {}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection_->descriptor(), &event);
}

void RedisBell::ask() { connection_->send({"XREAD", "BLOCK", "0", "STREAMS", kNews, last_}); }

bool RedisBell::hush() {
  const std::lock_guard lock(mutex_);
  if (!connection_) return false;
  bool rang = false;
  try {
    while (const auto reply = connection_->receive()) {
      for (const RedisReply& stream : reply->items) {
        for (const RedisReply& news : stream.items.at(1).items) {
          last_ = news.items.at(0).text;
          const auto& fields = news.items.at(1).items;
          rang = rang || owner_.empty() || fields.at(1).text != owner_;
        }
      }
      ask();
    }
  } catch (const Error&) {  // closing the connection also removes it from the epoll
    connection_.reset();
    return true;
  }
  return rang;
}

}  // namespace flor::cli
