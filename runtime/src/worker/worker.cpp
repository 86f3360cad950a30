#include "worker/worker.h"

#include "session/runtime.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace flor::detail {
namespace {

/// The next line; nothing if the other side is gone or has shut down.
std::optional<std::string> read_line(int socket, std::string& pending) {
  for (;;) {
    if (const std::size_t end = pending.find('\n'); end != pending.npos) {
      std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count > 0) {
      pending.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return std::nullopt;
    }
  }
}

}  // namespace

bool is_worker() { return std::getenv(kWorkerVariable) != nullptr; }

Flags worker_flags(int& argc, char** argv) {
  const int socket = std::atoi(std::getenv(kWorkerVariable));
  ::unsetenv(kWorkerVariable);
  // A program that a user starts with this variable in the environment is not a worker.
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    throw Error(fmt::format("{} is set, but is no socket: unset it, `flor replay` alone sets it",
                            kWorkerVariable));
  }
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no worker outlives `flor replay` when that is killed
  Flags flags = take_flags_of_worker(argc, argv);
  std::string pending;
  const auto line = read_line(socket, pending);
  if (!line) std::_Exit(static_cast<int>(ExitStatus::interrupted));
  const WorkerOrder order = WorkerOrder::decode(*line);
  flags.run = order.run;
  flags.home = order.home;
  flags.probes = order.probes;
  flags.no_probe = order.no_probe;
  flags.strong = order.strong;
  flags.ordered.alone = order.alone;
  flags.instead = order.instead;
  flags.cores = order.cores;
  flags.sources = order.sources;
  flags.as_recorded = order.as_recorded;
  flags.plugin = order.plugin;
  flags.plugin_digest = order.plugin_digest;
  flags.ordered.hands_in = order.hands_in;
  flags.ordered.walk = order.walk;
  flags.asked.steps = order.steps;
  flags.asked.in_full = order.in_full;
  flags.worker_socket = socket;
  return flags;
}

HandedOut::HandedOut(int socket, const std::string& digest, const std::string& plugin)
    : socket_(socket) {
  send("hello " + digest + (plugin.empty() ? "" : " " + plugin));
}

Epochs HandedOut::next(const Position& position) {
  send(position.encode());
  for (;;) {
    std::istringstream words(receive());
    std::string word;
    words >> word;
    if (word == "replay") {
      words >> replay_;
    } else if (word == "keep") {
      std::int64_t section = 0;
      words >> section;
      kept_.insert(section);
    } else if (word == "epochs") {
      finished_ = false;
      Epochs piece;
      words >> piece.first >> piece.end;
      return piece;
    } else if (word == "finish") {
      finished_ = true;
      return {};
    } else {
      throw Error(
          fmt::format("flor replay said '{}', which this program does not understand: "
                      "build both from the same version of Flor",
                      word));
    }
  }
}

void HandedOut::completed(const std::vector<store::ReplayedPart>& parts) {
  if (parts.empty()) return;
  std::string lines;
  for (const store::ReplayedPart& part : parts) {
    if (!lines.empty()) lines += '\n';
    lines += encode_done(part);
  }
  send(lines);
}

void HandedOut::report(const WorkDone& work) { send(work.encode()); }
void HandedOut::proved(const ProvedStates& states) { send(states.encode()); }

bool HandedOut::called_off() const {
  pollfd state{socket_, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void HandedOut::send(const std::string& line) {
  const std::lock_guard lock(sending_);
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return;  // `flor replay` has closed the socket, which `called_off` notices
    }
  }
}

std::string HandedOut::receive() {
  if (auto line = read_line(socket_, pending_)) return std::move(*line);
  end_program(ExitStatus::interrupted);
}

}  // namespace flor::detail
