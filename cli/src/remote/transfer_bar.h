// Shows the progress of a transfer on standard error: on a terminal a bar with rate and time left,
// otherwise a line now and then.
#pragma once

#include "remote/remote.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace flor::cli {

class TransferBar {
 public:
  /// `what`: a description of the transfer, such as "spooling 3f2a91c4 (linear)".
  explicit TransferBar(std::string what);
  ~TransferBar() { clear(); }
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;

  void show(const remote::TransferProgress& progress);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point began_ = Clock::now(), told_ = Clock::now();
};

/// "12.3 MiB of 40 MiB, 110 MiB/s, 250 ms to go"; without a rate as long as it is unknown.
std::string print_transfer(const remote::TransferProgress& progress, double seconds);

}  // namespace flor::cli
