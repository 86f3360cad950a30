#include "seats/cluster_engine.h"

#include "file/line_log.h"
#include "output/terminal_text.h"
#include "seats/seat.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace flor::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// A seat, as the dispatcher sees it through its two logs.
class RemoteSeat {
 public:
  RemoteSeat(const SeatSession& session, const std::string& name, std::size_t ranks,
             double patience)
      : said_(session.said(name)),
        told_(session.told(name), false),
        patience_(patience),
        ranks_(ranks) {}

  const std::string& host() const { return host_; }
  /// Whether the seat has arrived and has no work.
  bool is_free() const { return !host_.empty() && !busy_ && !is_gone(); }
  bool is_gone() const { return !gone_.empty(); }
  /// The reason why the seat is gone; empty if it is there.
  const std::string& gone() const { return gone_; }

  void start(int worker) {
    busy_ = true;
    for (Rank& rank : ranks_) rank = {};
    tell(fmt::format("start {}", worker));
  }
  void tell(std::string line) { to_tell_.push_back(std::move(line)); }

  /// Sends the waiting lines and reads the lines that have arrived.
  void exchange();
  int next_look_ms() const { return look_after_ms(seconds_since(news_at_)); }

  std::vector<std::string> take_lines(std::size_t rank) {
    return std::exchange(ranks_[rank].lines, {});
  }
  std::optional<int> status(std::size_t rank) const {
    if (ranks_[rank].status) return ranks_[rank].status;
    return is_gone() ? std::optional(ReplayProcess::kLost) : std::nullopt;
  }
  std::string words(std::size_t rank) const {
    return ranks_[rank].status && *ranks_[rank].status != ReplayProcess::kLost ? ranks_[rank].words
                                                                               : gone_;
  }

 private:
  struct Rank {
    std::vector<std::string> lines;
    std::optional<int> status;
    std::string words;
  };
  void hear(const std::string& line);

  store::LineLogReader said_;
  store::LineLogWriter told_;
  double patience_;
  std::vector<Rank> ranks_;
  std::vector<std::string> to_tell_;
  std::string host_, gone_;
  bool busy_ = false;
  Clock::time_point heard_at_ = Clock::now(), news_at_ = heard_at_, told_at_ = heard_at_;
};

void RemoteSeat::exchange() {
  if (is_gone()) return;
  if (to_tell_.empty() && seconds_since(told_at_) > patience_ / 8) tell("beat");
  if (!to_tell_.empty()) {
    told_.append(to_tell_);
    to_tell_.clear();
    told_at_ = Clock::now();
  }
  const std::vector<std::string> lines = said_.read();
  if (!lines.empty()) heard_at_ = Clock::now();
  for (const std::string& line : lines) hear(line);
  if (seconds_since(heard_at_) > patience_) {
    gone_ = fmt::format("nothing was heard from {} for {:.0f} s", host_, patience_);
  }
}

void RemoteSeat::hear(const std::string& line) {
  if (line == "beat") return;
  news_at_ = Clock::now();
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "here") {
    words >> host_;
  } else if (word == "free") {
    busy_ = false;
  } else if (word == "left") {
    gone_ = fmt::format("{} was taken away", host_);
  } else if (word == "ended") {
    std::size_t rank = 0;
    int status = 0;
    words >> rank >> status;
    if (rank >= ranks_.size()) return;
    ranks_[rank].status = status;
    words.ignore(1);
    std::getline(words, ranks_[rank].words);
  } else if (word.find_first_not_of("0123456789") == word.npos) {
    const auto rank = static_cast<std::size_t>(std::atoll(word.c_str()));
    if (rank < ranks_.size()) ranks_[rank].lines.push_back(line.substr(word.size() + 1));
  }
}

/// One rank of the worker that a seat runs.
class RemoteProcess final : public ReplayProcess {
 public:
  RemoteProcess(std::shared_ptr<RemoteSeat> seat, std::size_t rank)
      : seat_(std::move(seat)), rank_(rank) {}
  ~RemoteProcess() override {
    if (!seat_->status(rank_)) kill(SIGKILL);
  }

  void send(const std::string& line) override { seat_->tell(fmt::format("{} {}", rank_, line)); }
  std::vector<std::string> receive() override { return seat_->take_lines(rank_); }
  void call_off() override {
    if (rank_ == 0) seat_->tell("off");
  }
  void kill(int signal) override { seat_->tell(fmt::format("kill {} {}", rank_, signal)); }
  std::optional<int> ended() override {
    seat_->exchange();
    return seat_->status(rank_);
  }
  std::string last_words() const override { return seat_->words(rank_); }

 private:
  std::shared_ptr<RemoteSeat> seat_;
  std::size_t rank_;
};

class ClusterEngine final : public Engine {
 public:
  ClusterEngine(SeatSession& session, const EngineWish& wish, const ReplayRequest& request,
                Progress& progress);
  ~ClusterEngine() override { finish(); }

  Processes start(int worker) override;
  std::filesystem::path log_of(int worker, std::size_t rank) const override {
    return session_.log(worker, rank);
  }
  std::chrono::milliseconds patience() const override;
  std::optional<std::string> look() override;
  std::string waiting_for() const override { return waiting_for_; }
  void note_replays(const std::vector<std::int64_t>& replays) override {
    session_.note_replays(replays);
  }
  bool hands_in() const override { return true; }
  bool is_elsewhere() const override { return true; }
  void finish() override;

 private:
  void find_seats();
  void watch_seats();
  std::optional<std::string> give_up(const std::string& why);
  bool anybody_here() const {
    return std::ranges::any_of(seats_, [](const auto& seat) { return !seat.second->is_gone(); });
  }

  SeatSession& session_;
  Progress& progress_;
  std::size_t ranks_, wanted_;
  double patience_ = cluster_patience();
  std::unique_ptr<SeatStarter> starter_;
  std::map<std::string, std::shared_ptr<RemoteSeat>> seats_;  // including seats that have left
  std::set<std::string> missed_;                              // seats whose leaving was noticed
  std::string waiting_for_;
  std::size_t seats_before_ = 0;  // number of seats at the last start
  int starts_ = 1;
  bool finished_ = false;
  std::optional<Clock::time_point> over_at_;
  Clock::time_point looked_at_{};
};

ClusterEngine::ClusterEngine(SeatSession& session, const EngineWish& wish,
                             const ReplayRequest& request, Progress& progress)
    : session_(session),
      progress_(progress),
      ranks_(request.ranks.size()),
      wanted_(static_cast<std::size_t>(request.workers)) {
  const std::string flor =
      wish.flor.empty() ? std::filesystem::read_symlink("/proc/self/exe").string() : wish.flor;
  starter_ = make_seat_starter(wish, {.name = session.name(),
                                      .command = {flor, "__seat", session.directory().string()},
                                      .count = request.workers,
                                      .cores = request.launch.threads * static_cast<int>(ranks_),
                                      .directory = session.directory()});
  starter_->start();
}

void ClusterEngine::find_seats() {
  const auto here = static_cast<std::size_t>(
      std::ranges::count_if(seats_, [](const auto& seat) { return !seat.second->is_gone(); }));
  // The directory is read rarely once all wanted seats have arrived.
  const double pause = here == 0 ? 0.05 : here < wanted_ ? 0.2 : 2;
  if (seconds_since(looked_at_) < pause) return;
  looked_at_ = Clock::now();
  for (const std::string& name : session_.seats()) {
    if (seats_.contains(name)) continue;
    seats_[name] = std::make_shared<RemoteSeat>(session_, name, ranks_, patience_);
  }
}

void ClusterEngine::watch_seats() {
  for (auto& [name, seat] : seats_) {
    if (!seat->is_gone()) seat->exchange();
    if (!seat->is_gone() || !missed_.insert(name).second) continue;
    starter_->look_soon();
  }
}

Engine::Processes ClusterEngine::start(int worker) {
  for (auto& [name, seat] : seats_) {
    if (!seat->is_free()) continue;
    seat->start(worker);
    Processes processes;
    for (std::size_t i = 0; i < ranks_; ++i) {
      processes.push_back(std::make_unique<RemoteProcess>(seat, i));
    }
    return processes;
  }
  return {};
}

std::chrono::milliseconds ClusterEngine::patience() const {
  int wait = 100;
  for (const auto& [name, seat] : seats_) {
    if (!seat->is_gone()) wait = std::min(wait, seat->next_look_ms());
  }
  return std::chrono::milliseconds(wait);
}

std::optional<std::string> ClusterEngine::look() {
  find_seats();
  watch_seats();
  const std::optional<std::string> why = starter_->over();
  if (!why) over_at_.reset();
  waiting_for_ = anybody_here() || why ? std::string() : starter_->waiting_for();
  if (!why || anybody_here()) return std::nullopt;
  return give_up(*why);
}

/// Returns the reason to give up, but only after a pause, because seats may have arrived that were
/// not seen yet.
std::optional<std::string> ClusterEngine::give_up(const std::string& why) {
  constexpr double kDoubt = 2;
  constexpr int kStarts = 4;
  if (!over_at_) over_at_ = Clock::now();
  if (seconds_since(*over_at_) < kDoubt) return std::nullopt;
  const bool something_came = seats_.size() > seats_before_;
  if (!starter_->may_start_again() || !something_came || starts_ == kStarts) return why;
  ++starts_;
  seats_before_ = seats_.size();
  over_at_.reset();
  starter_->start();
  progress_.say(why + "; another one is submitted for what is left");
  return std::nullopt;
}

void ClusterEngine::finish() {
  if (std::exchange(finished_, true)) return;
  try {
    for (auto& [name, seat] : seats_) {
      if (seat->is_gone()) continue;
      seat->tell("leave");
      seat->exchange();
    }
    const auto began = Clock::now();
    while (anybody_here() && seconds_since(began) < 2) {
      ::poll(nullptr, 0, 5);
      for (auto& [name, seat] : seats_) seat->exchange();
    }
    starter_->stop();
  } catch (const std::exception& error) {
    progress_.say(error.what());
  }
}

}  // namespace

double cluster_patience() {
  const char* text = std::getenv("FLOR_PATIENCE");
  const double seconds = text ? std::atof(text) : 0;
  return seconds > 0 ? std::clamp(seconds, 1.0, 3600.0) : 40;
}

std::unique_ptr<Engine> cluster_engine(SeatSession& session, const EngineWish& wish,
                                       const ReplayRequest& request, Progress& progress) {
  return std::make_unique<ClusterEngine>(session, wish, request, progress);
}

}  // namespace flor::cli
