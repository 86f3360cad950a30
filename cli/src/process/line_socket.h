// Sends and receives lines of text over a stream socket to another process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

/// Owns the descriptor of the socket.
class LineSocket {
 public:
  explicit LineSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~LineSocket();
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;

  int descriptor() const { return descriptor_; }
  /// Sends a line. The line is lost if the other end is closed, which `is_closed` then tells.
  void send(const std::string& line);
  /// Returns the whole lines that have arrived. Never waits.
  std::vector<std::string> receive();
  /// Whether the last call of `receive` found the other end closed.
  bool is_closed() const { return closed_; }

 private:
  int descriptor_;
  bool closed_ = false;
  std::string pending_;
};

/// Creates two connected sockets, which children do not inherit. Throws Error.
std::pair<int, int> socket_pair();

}  // namespace flor::cli
