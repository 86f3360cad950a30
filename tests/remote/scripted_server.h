// An HTTP server on loopback that says what a test wants.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace flor::testing {

class ScriptedServer {
 public:
  /// Gets the head of a request and its number; returns the whole answer, or nothing to stay
  /// silent. Called by one thread at a time.
  using Answer = std::function<std::string(const std::string& head, int number)>;

  explicit ScriptedServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_, 64) != 0) {
      throw std::runtime_error("the server cannot listen");
    }
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    ended_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return requests_; }

  static std::string answer(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: keep-alive\r\n\r\n" + body;
  }

 private:
  void serve() {
    while (!ended_) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) break;
      conversations_.emplace_back([this, connection] {
        converse(connection);
        ::close(connection);
      });
    }
    for (std::thread& conversation : conversations_) conversation.join();
  }
  void converse(int connection) {
    std::string head;
    while (!ended_) {
      pollfd readable{connection, POLLIN, 0};
      constexpr int kLookMs = 50;
      if (::poll(&readable, 1, kLookMs) == 0) continue;
      char buffer[4096];
      const ssize_t got = ::recv(connection, buffer, sizeof(buffer), 0);
      if (got <= 0) return;
      head.append(buffer, static_cast<std::size_t>(got));
      if (head.find("\r\n\r\n") == std::string::npos) continue;
      const std::string text = say(head);
      head.clear();
      if (::send(connection, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  std::string say(const std::string& head) {
    const std::lock_guard lock(mutex_);
    return answer_(head, requests_++);
  }

  Answer answer_;
  std::mutex mutex_;
  std::vector<std::thread> conversations_;  // of the thread that serves
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ended_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace flor::testing
