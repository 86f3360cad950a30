// Runs a real Redis server on a free port of the loopback interface, in a temporary directory.
#pragma once

#include "support/process.h"
#include "support/temporary_directory.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace flor::testing {

class RedisServer {
 public:
  static bool is_installed() { return !program().empty(); }

  /// Starts the server and waits until it answers. `settings`: as in redis.conf, e.g.
  /// {"--appendonly", "yes"}; default: those of the server.
  explicit RedisServer(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {
    for (int i = 0; i < 20; ++i) {
      port_ = free_port();
      if (try_start()) return;
    }
    throw std::runtime_error("redis-server does not start");
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  std::string name(int database = 0) const {
    return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database);
  }

  /// Starts the server again, on the same port.
  void start() {
    if (!try_start()) throw std::runtime_error("redis-server does not start again");
  }
  /// Stops the server like an administrator: it saves what its settings say.
  void stop() {
    process_->kill(SIGTERM);
    process_->wait();
    process_.reset();
  }
  /// Kills the server without a chance to save anything.
  void kill() {
    process_->kill(SIGKILL);
    process_->wait();
    process_.reset();
  }
  /// Removes what the server has saved. It must be stopped.
  void forget() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      std::filesystem::remove_all(entry.path());
    }
  }
  void pause() const { process_->kill(SIGSTOP); }
  void go_on() const { process_->kill(SIGCONT); }

  /// Sends a command whose words have no spaces. Returns the server's raw answer, or an empty text.
  std::string ask(const std::string& command) const {
    const int fd = connected();
    if (fd < 0) return {};
    const std::string line = command + "\r\n";
    std::string answer(1 << 16, '\0');
    ssize_t got = ::send(fd, line.data(), line.size(), MSG_NOSIGNAL);
    if (got > 0) got = ::recv(fd, answer.data(), answer.size(), 0);
    ::close(fd);
    answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return answer;
  }

 private:
  static sockaddr_in address_of(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = address_of(0);
    socklen_t size = sizeof address;
    ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    return ntohs(address.sin_port);
  }
  int connected() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = address_of(port_);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
  }
  /// The path of the server, or of redis-check-rdb, which is the same program under another name:
  /// on Debian redis-tools has the latter, without installing a service.
  static std::filesystem::path program() {
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (const char* name : {"redis-server", "redis-check-rdb"}) {
      for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const auto file = std::filesystem::path(path.substr(begin, end - begin)) / name;
        if (::access(file.c_str(), X_OK) == 0) return file;
        begin = end + 1;
      }
    }
    return {};
  }
  bool try_start() {
    const std::filesystem::path server = directory_.path() / "redis-server";
    if (!std::filesystem::exists(server)) std::filesystem::create_symlink(program(), server);
    std::vector<std::string> words{server.string(), "--port", std::to_string(port_),     "--bind",
                                   "127.0.0.1",     "--dir",  directory_.path().string()};
    words.insert(words.end(), settings_.begin(), settings_.end());
    process_ = std::make_unique<Process>(
        words, ProcessOptions{.directory = directory_.path(), .environment = {}});
    for (int i = 0; i < 1000 && !process_->ended(); ++i) {
      const std::string answer = ask("PING");
      if (answer.starts_with("+PONG") || answer.starts_with("-NOAUTH")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    process_.reset();
    return false;
  }

  std::vector<std::string> settings_;
  TemporaryDirectory directory_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace flor::testing
