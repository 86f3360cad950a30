// A proxy in front of an HTTP server, on loopback, that does to requests what a network or a busy
// server may do.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace flor::testing {

enum class Fault {
  none,
  unavailable,      ///< 503 instead of an answer
  not_implemented,  ///< 501 instead of an answer
  pretended,        ///< 200 instead of an answer
  elsewhere,        ///< 307 to another host instead of an answer
  endless,          ///< an answer that does not end
  endless_headers,  ///< whose headers do not end
  reset,            ///< the connection breaks before the request has arrived
  reset_answer,     ///< the server has done it, and its answer is lost
  cut_answer,       ///< half of the answer
  corrupt_request,  ///< one bit of its body
  corrupt_answer,
};

/// What is done to a request, by its first line and headers, and its number.
using FaultPlan = std::function<Fault(std::string_view head, int number)>;

class HttpProxy {
 public:
  /// To a server on this port of 127.0.0.1.
  explicit HttpProxy(int server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_, 64) != 0) {
      throw std::runtime_error("the proxy cannot listen");
    }
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~HttpProxy() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    for (std::thread& thread : threads_) thread.join();
  }
  HttpProxy(const HttpProxy&) = delete;
  HttpProxy& operator=(const HttpProxy&) = delete;

  int port() const { return port_; }
  int requests() const { return requests_; }
  void plan(FaultPlan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void accept_all() {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      threads_.emplace_back([this, client] {
        serve(client);
        ::close(client);
      });
    }
  }

  static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// False at the end of the stream.
  static bool receive(int socket, std::string& bytes) {
    std::string buffer(65536, '\0');
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    bytes.append(buffer, 0, static_cast<std::size_t>(got));
    return true;
  }

  static void reset(int socket) {
    const linger now{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

  static std::string instead_of_an_answer(Fault fault) {
    constexpr std::string_view kEnd = "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    switch (fault) {
      case Fault::unavailable:
        return std::string("HTTP/1.1 503 Slow Down").append(kEnd);
      case Fault::not_implemented:
        return std::string("HTTP/1.1 501 Not Implemented").append(kEnd);
      case Fault::pretended:
        return std::string("HTTP/1.1 200 OK").append(kEnd);
      case Fault::elsewhere:
        return std::string("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/x")
            .append(kEnd);
      case Fault::endless:
        return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
      case Fault::endless_headers:
        return "HTTP/1.1 200 OK\r\n";
      default:
        return "";
    }
  }
  static constexpr std::string_view kMore =
      "0123456789012345678901234567890123456789012345678901234567890123456789";

  /// One request a connection.
  void serve(int client) {
    std::string request;
    std::size_t head = std::string::npos;
    while (head == std::string::npos) {
      if (!receive(client, request)) return;
      head = request.find("\r\n\r\n");
    }
    Fault fault = Fault::none;
    {
      const std::lock_guard lock(mutex_);
      const int number = requests_++;
      if (plan_) fault = plan_(std::string_view(request).substr(0, head), number);
    }
    if (fault == Fault::reset) return reset(client);
    const std::size_t length = content_length(std::string_view(request).substr(0, head));
    while (request.size() < head + 4 + length) {
      if (!receive(client, request)) return;
    }
    if (const std::string instead = instead_of_an_answer(fault); !instead.empty()) {
      const std::string_view more = fault == Fault::endless           ? kMore
                                    : fault == Fault::endless_headers ? "x-more: and more\r\n"
                                                                      : "";
      for (bool taken = send_all(client, instead); taken && !more.empty();) {
        taken = send_all(client, more);
      }
      return;
    }
    if (fault == Fault::corrupt_request && length > 0) request[head + 4 + length / 2] ^= 1;
    request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
    answer(client, request, fault);
  }

  void answer(int client, const std::string& request, Fault fault) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    std::string reply;
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        send_all(server, request)) {
      while (receive(server, reply)) {
      }
    }
    ::close(server);
    if (fault == Fault::reset_answer) return reset(client);
    const std::size_t body = reply.find("\r\n\r\n") + 4;
    if (fault == Fault::corrupt_answer && reply.size() > body) {
      reply[body + (reply.size() - body) / 2] ^= 1;
    }
    if (fault == Fault::cut_answer) reply.resize(body + (reply.size() - body) / 2);
    send_all(client, reply);
  }

  static std::size_t content_length(std::string_view head) {
    for (std::size_t at = 0; (at = head.find("\r\n", at)) != head.npos;) {
      at += 2;
      constexpr std::string_view kName = "content-length:";
      if (::strncasecmp(head.data() + at, kName.data(), kName.size()) == 0) {
        return std::strtoull(head.data() + at + kName.size(), nullptr, 10);
      }
    }
    return 0;
  }

  int server_port_, listener_ = -1, port_ = 0;
  std::thread accepting_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  FaultPlan plan_;
  std::atomic<int> requests_{0};
};

}  // namespace flor::testing
