#include "seats/seat.h"

#include "file/line_log.h"
#include "file/own_directory.h"
#include "output/terminal_text.h"
#include "process/child.h"
#include "process/stop_signals.h"
#include "replay/meeting.h"
#include "replay/worker_process.h"
#include "seats/seat_session.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double passed_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// A store on this machine with the parts of the run that the work needs. All seats on the machine
/// share it.
class FetchedStore {
 public:
  explicit FetchedStore(const Work& work, const std::string& session);
  ~FetchedStore();
  FetchedStore(const FetchedStore&) = delete;
  FetchedStore& operator=(const FetchedStore&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  int lock_ = -1;
};

FetchedStore::FetchedStore(const Work& work, const std::string& session)
    : path_(store::own_temporary_directory(session)) {
  lock_ = ::open((path_ / "fetching").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::flock(lock_, LOCK_EX);
  if (!fs::exists(path_ / "fetched")) {
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(),
                                   "fetch",
                                   work.run,
                                   work.from,
                                   "--home",
                                   path_.string()};
    if (!work.epochs.empty()) words.insert(words.end(), {"--epochs", work.epochs});
    const ChildResult result = run_child(std::move(words), {});
    if (result.status != 0) {
      throw Error(fmt::format("{} could not fetch the run: {}", node_name(), result.errors),
                  static_cast<ExitStatus>(result.status));
    }
    ::close(::open((path_ / "fetched").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  ::flock(lock_, LOCK_SH);
}

/// Removes the store if this is the last seat on the machine.
FetchedStore::~FetchedStore() {
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ::close(lock_);
}

class Seat {
 public:
  explicit Seat(const fs::path& directory);
  int run();

 private:
  void wait();
  void heed_signals(int wait_ms);
  void listen_to_dispatcher();
  void obey(const std::string& line);
  void start(int worker);
  void listen_to_workers();
  void beat();
  void tell_all_to_end(const char* why);
  void say(std::string line) { said_lines_.push_back(std::move(line)); }
  void flush();
  bool working() const {
    return std::ranges::any_of(members_, [](const auto& member) { return member != nullptr; });
  }

  StopSignals signals_;
  fs::path directory_;
  Work work_;
  std::string name_;
  std::optional<FetchedStore> fetched_;
  std::optional<store::LineLogWriter> said_;
  store::LineLogReader told_;
  std::vector<std::string> said_lines_;
  std::vector<std::unique_ptr<WorkerProcess>> members_;  // by rank; null: has ended
  std::string leaving_;                                  // why the seat leaves; empty: it stays
  Clock::time_point left_at_{}, told_at_ = Clock::now(), news_at_ = told_at_, beat_at_ = told_at_;
};

Seat::Seat(const fs::path& directory)
    : directory_(directory),
      work_(Work::read(directory / "work")),
      name_(fmt::format("{}-{}-{}", node_name(), ::getpid(),
                        std::chrono::system_clock::now().time_since_epoch().count())),
      told_(directory / "seats" / (name_ + ".told")) {
  if (!work_.from.empty()) fetched_.emplace(work_, directory.filename().string());
  // The log for the answers is made first: a dispatcher that sees the seat's messages must be able
  // to write to it.
  store::LineLogWriter(directory / "seats" / (name_ + ".told"), true);
  said_.emplace(directory / "seats" / (name_ + ".said"), true);
  say("here " + node_name());
  flush();
}

int Seat::run() {
  while (leaving_.empty() || working()) {
    wait();
    listen_to_dispatcher();
    listen_to_workers();
    beat();
    flush();
  }
  say("left " + leaving_);
  flush();
  return 0;
}

void Seat::wait() {
  std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
  for (const auto& member : members_) {
    if (!member) continue;
    for (const int event : member->events()) events.push_back({event, POLLIN, 0});
  }
  ::poll(events.data(), events.size(), look_after_ms(passed_since(news_at_)));
  heed_signals(0);
}

void Seat::heed_signals(int wait_ms) {
  pollfd event{signals_.descriptor(), POLLIN, 0};
  if (::poll(&event, 1, wait_ms) <= 0 || !signals_.came()) return;
  tell_all_to_end("it was asked to by a signal");
}

void Seat::listen_to_dispatcher() {
  const std::vector<std::string> lines = told_.read();
  if (!lines.empty()) told_at_ = Clock::now();
  for (const std::string& line : lines) {
    if (line == "beat") continue;
    news_at_ = Clock::now();
    obey(line);
  }
  if (told_.is_gone()) tell_all_to_end("the replay is over");
  if (passed_since(told_at_) > work_.patience) {
    tell_all_to_end("nothing was heard from flor replay");
  }
}

void Seat::obey(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "start") {
    int worker = 0;
    words >> worker;
    if (!working() && leaving_.empty()) start(worker);
  } else if (word == "off") {
    for (const auto& member : members_) {
      if (member) member->call_off();
    }
  } else if (word == "kill") {
    std::size_t rank = 0;
    int signal = SIGKILL;
    words >> rank >> signal;
    if (rank < members_.size() && members_[rank]) members_[rank]->kill(signal);
  } else if (word == "leave") {
    tell_all_to_end("it was told to");
  } else {
    const auto rank = static_cast<std::size_t>(std::atoll(word.c_str()));
    if (rank < members_.size() && members_[rank]) {
      members_[rank]->send(line.substr(std::min(word.size() + 1, line.size())));
    }
  }
}

void Seat::start(int worker) {
  const bool group = work_.ranks.size() > 1;
  members_.clear();
  members_.resize(work_.ranks.size());
  try {
    const Meeting meeting = group ? Meeting::arrange() : Meeting();
    for (std::size_t i = 0; i < work_.ranks.size(); ++i) {
      const Work::Rank& rank = work_.ranks[i];
      detail::WorkerOrder order = rank.order;
      if (fetched_) order.home = fetched_->path().string();
      std::map<std::string, std::string> variables;
      if (rank.place) variables = meeting.variables(*rank.place);
      const std::string name =
          group ? fmt::format("worker-{}-rank-{}", worker, rank.place ? rank.place->rank : 0)
                : fmt::format("worker-{}", worker);
      members_[i] = std::make_unique<WorkerProcess>(rank.launch, order, variables,
                                                    directory_ / "logs" / (name + ".log"));
    }
  } catch (const Error& error) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].reset();
      say(fmt::format("ended {} {} flor: on {}: {}", i, static_cast<int>(error.status()),
                      node_name(), error.what()));
    }
    say("free");
  }
}

void Seat::listen_to_workers() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    auto& member = members_[i];
    if (!member) continue;
    std::optional<int> status = member->ended();
    for (const std::string& line : member->receive()) {
      say(fmt::format("{} {}", i, line));
      news_at_ = Clock::now();
    }
    if (!status) continue;
    // When a node is taken away, all its processes get a signal, in any order; so this seat may get
    // its own a moment later.
    if (*status > 128) heed_signals(300);
    if (*status > 128 && !leaving_.empty()) status = ReplayProcess::kLost;
    std::string words = member->last_words();
    std::ranges::replace(words, '\n', ' ');
    say(fmt::format("ended {} {} {}", i, *status, words));
    member.reset();
    news_at_ = Clock::now();
    if (!working()) say("free");
  }
  if (!leaving_.empty() && working() && passed_since(left_at_) > 5) {
    for (const auto& member : members_) {
      if (member) member->kill(SIGKILL);
    }
  }
}

void Seat::beat() {
  if (!said_lines_.empty()) beat_at_ = Clock::now();
  if (passed_since(beat_at_) < work_.beat()) return;
  beat_at_ = Clock::now();
  say("beat");
}

void Seat::tell_all_to_end(const char* why) {
  if (!leaving_.empty()) return;
  leaving_ = why;
  left_at_ = Clock::now();
  for (const auto& member : members_) {
    if (member) member->call_off();
  }
}

/// Sends the waiting lines. An error ends the seat, because work that is not reported does not
/// count.
void Seat::flush() {
  if (said_lines_.empty()) return;
  said_->append(std::exchange(said_lines_, {}));
}

}  // namespace

std::string node_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  const char* node = std::getenv("SLURMD_NODENAME");
  return node ? node : name;
}

int look_after_ms(double seconds_of_silence) {
  return static_cast<int>(std::clamp(seconds_of_silence * 1000 / 50, 2.0, 200.0));
}

int run_seat(const fs::path& directory) {
  try {
    return Seat(directory).run();
  } catch (const NotFound&) {
    fmt::print(stderr,
               "flor: {} does not see {}, or the replay is over: the directory of a replay must be "
               "on a file system that all nodes share (--shared DIR, or FLOR_HOME)\n",
               node_name(), printable(directory.string()));
    return static_cast<int>(ExitStatus::not_found);
  } catch (const std::exception& error) {
    fmt::print(stderr, "flor: {}: {}\n", node_name(), printable(error.what()));
    return static_cast<int>(ExitStatus::failed);
  }
}

}  // namespace flor::cli
