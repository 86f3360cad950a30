// Fuzz target of the requests to flor serve: each input is sent to a real server over a connection,
// with TOKEN replaced by the right one and PORT by its port. The server must go on, answer with
// HTTP or close, and hand its pages only requests that have the token.
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace flor::fuzz::serve_target {
namespace {

using namespace flor::cli;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// Counts what is asked.
class Page {
 public:
  Page() : thread_([this] { server_.run(); }) {}
  ~Page() {
    server_.stop();
    thread_.join();
  }
  int port() const { return server_.port(); }
  std::string token() const {
    const std::string url = server_.url();
    return url.substr(url.size() - 33, 32);
  }
  std::atomic<int> asked = 0, changed = 0;

 private:
  HttpResponse answer(const HttpRequest& ask) {
    (ask.changes ? changed : asked)++;
    std::string body = ask.path;
    for (const auto& [name, value] : ask.parameters) body += name + value;
    return {.body = body};
  }

  HttpServer server_{0, [this](const HttpRequest& ask) { return answer(ask); }};
  std::thread thread_;
};

std::string filled(std::string text, std::string_view mark, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos; at += value.size()) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

bool has_more(int socket, int milliseconds) {
  pollfd wait{socket, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) > 0;
}

/// The beginning of the answer; empty where the connection was closed without one.
std::string send(int port, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Closed with a reset, so that many in a second leave no ports that wait.
  const linger none{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  require(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "no connection is accepted any more");
  std::string answer(4096, '\0');
  ssize_t size = 0;
  constexpr int kAtOnce = 3, kSoon = 5000;
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) {
    if (!has_more(socket, kAtOnce)) {
      ::shutdown(socket, SHUT_WR);
      require(has_more(socket, kSoon), "a request that ended early is waited for");
    }
    size = ::recv(socket, answer.data(), answer.size(), 0);
  }
  ::close(socket);
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return answer;
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static Page page;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const int asked = page.asked, changed = page.changed;
  const std::string bytes =
      filled(filled(text, "TOKEN", page.token()), "PORT", std::to_string(page.port()));
  const std::string answer = send(page.port(), bytes);
  require(answer.empty() || answer.starts_with("HTTP/1."), "an answer is no HTTP");
  const bool has_token = text.find("TOKEN") != text.npos;
  require(has_token || (page.asked == asked && page.changed == changed),
          "a request without the token was answered");
  require(text.find("POST") != text.npos || page.changed == changed, "what changes is no POST");
  return 0;
}

}  // namespace flor::fuzz::serve_target
