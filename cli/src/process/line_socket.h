// Sends and receives lines of text, by a socket to another process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

/// Owns the descriptor of a stream socket.
class LineSocket {
 public:
  explicit LineSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~LineSocket();
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;

  int descriptor() const { return descriptor_; }
  /// Sends a line; it is lost if the other end is gone, which `is_closed` shows.
  void send(const std::string& line);
  /// Whole lines that have arrived. Never waits.
  std::vector<std::string> receive();
  /// Whether the other end was closed when `receive` last looked.
  bool is_closed() const { return closed_; }

 private:
  int descriptor_;
  bool closed_ = false;
  std::string pending_;
};

/// Two connected descriptors that children do not inherit. Throws Error.
std::pair<int, int> socket_pair();

}  // namespace flor::cli
