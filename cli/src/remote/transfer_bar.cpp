#include "remote/transfer_bar.h"

#include "output/terminal_text.h"
#include "output/time.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace flor::cli {
namespace {

constexpr std::uint64_t kTransferBar = 24;  // width of the bar in columns
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kRepeat{30};

}  // namespace

TransferBar::TransferBar(std::string what) : what_(printable(what)), terminal_(::isatty(2) == 1) {}

std::string print_transfer(const remote::TransferProgress& progress, double seconds) {
  std::string text = fmt::format("{} of {}", bytes(progress.done), bytes(progress.all));
  if (progress.done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(progress.done) / seconds;
  text += fmt::format(", {}/s", bytes(static_cast<std::uint64_t>(rate)));
  if (progress.done < progress.all) {
    text += fmt::format(", {} to go",
                        remaining(static_cast<double>(progress.all - progress.done) / rate));
  }
  return text;
}

void TransferBar::show(const remote::TransferProgress& progress) {
  const auto now = Clock::now();
  if (progress.all == 0 || now - told_ < (terminal_ ? Clock::duration(kRedraw) : kRepeat)) return;
  told_ = now;
  const std::string text =
      print_transfer(progress, std::chrono::duration<double>(now - began_).count());
  if (!terminal_) {
    fmt::print(stderr, "flor: {}: {}\n", what_, text);
    return;
  }
  const std::size_t filled = static_cast<std::size_t>(progress.done * kTransferBar / progress.all);
  fmt::print(stderr, "\r[{:.<{}}] {}: {}\x1b[K", std::string(filled, '#'), kTransferBar, what_, text);
  std::fflush(stderr);
  drawn_ = true;
}

void TransferBar::clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace flor::cli
