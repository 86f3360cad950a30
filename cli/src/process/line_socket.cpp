#include "process/line_socket.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace flor::cli {

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      closed_(other.closed_),
      pending_(std::move(other.pending_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(closed_, other.closed_);
  std::swap(pending_, other.pending_);
  return *this;
}

void LineSocket::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::vector<std::string> LineSocket::receive() {
  char buffer[1 << 16];
  const std::size_t searched = pending_.size();
  for (;;) {
    const ssize_t count = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
      pending_.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      closed_ = closed_ || count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      break;
    }
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = searched; (end = pending_.find('\n', end)) != pending_.npos;) {
    lines.push_back(pending_.substr(begin, end - begin));
    begin = ++end;
  }
  pending_.erase(0, begin);
  return lines;
}

std::pair<int, int> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(fmt::format("no socket for a worker: {}", std::strerror(errno)));
  }
  return {ends[0], ends[1]};
}

}  // namespace flor::cli
