// A training on a disk that fails for a while, by a clock of its own that its steps advance. STORM
// says when: "FROM:LENGTH:KIND,...", in milliseconds of that clock, with KIND a name of the errno
// with which all changes fail (ENOSPC, EIO, EDQUOT, EROFS), "packs", "journals" or "index" (only
// theirs do), "fsync" (only syncing fails), "locks" or "flocks" (locks of the index, or of all
// else, fail), "held" (another connection has the lock) or "kill" (the process is killed). Without
// a LENGTH it never passes. Each epoch prints when it began. ACCIDENT adds one fault:
// "N:LENGTH:KIND", where LENGTH changes from the N-th after flor::init fail, or kill the program
// ("kill"); at the end it says how many there were. MEMORY takes memory away: "N", where the N-th
// allocation (from 0) of the training thread after the body of epoch 3 fails. MEETING is a
// directory in which each of several ranks says that it records, and waits for the others: a
// program whose ranks exchange something does so by that. PATIENT prints how many milliseconds its
// threads asked to sleep, whatever else the machine does.
#include "base/outage.h"
#include "ranks/first_rank.h"
#include "show.h"
#include "support/disk.h"

#include <flor/checkpoint_strategy.h>
#include <flor/flor.h>

#include <poll.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// How many allocations of this thread succeed yet; below 0: all.
thread_local std::int64_t allocations_left = -1;

std::atomic<std::int64_t> slept_us{0};

}  // namespace

// SQLite waits for locks by one of these, and all else by the other.
extern "C" int nanosleep(const timespec* asked, timespec* left) {
  slept_us += asked->tv_sec * 1'000'000 + asked->tv_nsec / 1'000;
  return static_cast<int>(::syscall(SYS_nanosleep, asked, left));
}
extern "C" int usleep(useconds_t microseconds) {
  const timespec asked{microseconds / 1'000'000, microseconds % 1'000'000 * 1'000L};
  return nanosleep(&asked, nullptr);
}

// The thread sanitizer has functions of its own there, and does not let a program have others.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FLOR_TEST_KEEPS_NEW
#endif
#endif
#ifndef FLOR_TEST_KEEPS_NEW
void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

using flor::testing::Disk;

std::atomic<std::int64_t> clock_ms{1'000'000};

struct Fault {
  std::int64_t from = 0, until = std::numeric_limits<std::int64_t>::max();
  std::string kind;
};

std::vector<Fault> read_storm() {
  std::vector<Fault> storm;
  std::istringstream text(std::getenv("STORM") ? std::getenv("STORM") : "");
  for (std::string part; std::getline(text, part, ',');) {
    std::istringstream fields(part);
    std::string from, length;
    Fault& fault = storm.emplace_back();
    std::getline(fields, from, ':');
    std::getline(fields, length, ':');
    std::getline(fields, fault.kind, ':');
    fault.from = 1'000'000 + std::stoll(from);
    if (!length.empty()) fault.until = fault.from + std::stoll(length);
  }
  return storm;
}

/// A connection to the catalog that holds the lock of writers.
class Holder {
 public:
  explicit Holder(const std::string& home) {
    sqlite3_open((home + "/catalog.db").c_str(), &database_);
    sqlite3_busy_timeout(database_, 10'000);
    sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  }
  ~Holder() {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(database_);
  }

 private:
  sqlite3* database_ = nullptr;
};

class Weather {
 public:
  void advance(std::int64_t ms) {
    clock_ms += ms;
    const Fault* now = nullptr;
    for (const Fault& fault : storm_) {
      if (fault.from <= clock_ms && clock_ms < fault.until) now = &fault;
    }
    if (now == present_) return;
    present_ = now;
    holder_.reset();
    Disk::heal();
    if (now) begin(now->kind);
  }

 private:
  void begin(const std::string& kind) {
    static const std::map<std::string, int> errors = {
        {"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}};
    static const std::map<std::string, std::string> kParts = {
        {"packs", "/packs"}, {"journals", "/runs"}, {"index", "/catalog.db"}};
    const std::string home = std::getenv("FLOR_HOME");
    if (kind == "held") {
      holder_.emplace(home);
    } else if (kind == "kill") {
      std::raise(SIGKILL);
    } else if (const auto part = kParts.find(kind); part != kParts.end()) {
      Disk::fail(home + part->second, Disk::Calls::changes, 1, ENOSPC, true);
    } else if (kind == "fsync") {
      Disk::fail(home, Disk::Calls::syncs, 1, EIO, true);
    } else if (kind == "locks") {
      Disk::fail(home, Disk::Calls::locks, 1, ENOLCK, true);
    } else if (kind == "flocks") {
      Disk::fail(home, Disk::Calls::flocks, 1, ENOLCK, true);
    } else {
      Disk::fail(home, Disk::Calls::changes, 1, errors.at(kind), true);
    }
  }

  std::vector<Fault> storm_ = read_storm();
  const Fault* present_ = nullptr;
  std::optional<Holder> holder_;
};

void read_accident() {
  const char* accident = std::getenv("ACCIDENT");
  if (!accident) return;
  int at = 0, length = 0;
  char kind[16] = {};
  if (std::sscanf(accident, "%d:%d:%15s", &at, &length, kind) != 3) std::abort();
  const int error = std::string(kind) == "kill" ? 0 : EIO;
  Disk::accident(std::getenv("FLOR_HOME"), at, length, error);
}

/// Waits for what was handed to the background, so that it goes at the pace of the clock.
void settle() {
  try {
    (void)flor::latest_checkpoint();
  } catch (const std::exception&) {  // the catalog cannot be read now
  }
}

void meet() {
  const char* meeting = std::getenv("MEETING");
  if (!meeting) return;
  const std::filesystem::path place(meeting);
  std::filesystem::create_directories(place);
  const int arrivals = ::inotify_init1(IN_CLOEXEC);
  ::inotify_add_watch(arrivals, place.c_str(), IN_CREATE);
  std::ofstream(place / std::getenv("RANK"));
  const int world = std::atoi(std::getenv("WORLD_SIZE"));
  for (int rank = 0; rank < world; ++rank) {
    while (!std::filesystem::exists(place / std::to_string(rank))) {
      pollfd waiting{arrivals, POLLIN, 0};
      if (::poll(&waiting, 1, 60'000) == 0) std::abort();
      char seen[4096];
      (void)!::read(arrivals, seen, sizeof seen);
    }
  }
  ::close(arrivals);
}

void train(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  meet();
  read_accident();
  const int epochs = flor::arg("epochs", 40);
  const int epoch_ms = flor::arg("epoch_ms", 5000);
  const int settled = flor::arg("settled", 1);
  constexpr int kSteps = 4;
  Weather weather;
  std::mt19937_64 engine{7};
  std::vector<double> weights(flor::arg("size", std::size_t{500}), 0.5);
  const auto state =
      flor::checkpoints(flor::named("weights", weights), flor::named("engine", engine));
  flor::log("start", weights[0]);
  const char* memory = std::getenv("MEMORY");
  for (const int epoch : flor::loop("epoch", epochs)) {
    if (std::exchange(allocations_left, -1) >= 0) std::fprintf(stderr, "memory was enough\n");
    show("epoch", epoch, clock_ms - 1'000'000);
    double sum = 0;
    for (const int step : flor::loop("train", kSteps, flor::with(sum))) {
      weather.advance(epoch_ms / kSteps);
      for (double& weight : weights) {
        weight += 0.01 * (static_cast<double>(engine() >> 11) * 0x1p-53 - weight);
      }
      sum += flor::log("loss", weights[static_cast<std::size_t>(step)]);
    }
    flor::log("mean", sum / kSteps);
    if (epoch % 8 == 0) {
      flor::log_tensor("weights", weights, {static_cast<std::int64_t>(weights.size())});
    }
    if (settled != 0) {
      settle();
    } else {
      std::this_thread::yield();
    }
    show("tail", epoch, sum);
    if (memory && epoch == 3) allocations_left = std::atoi(memory);
  }
  allocations_left = -1;
  weather.advance(epoch_ms);
  flor::log("end", weights[0]);
}

}  // namespace

int main(int argc, char** argv) {
  flor::detail::recorder_clock = [] {
    return flor::detail::Outage::Time(std::chrono::milliseconds(clock_ms));
  };
  if (!std::getenv("PATIENT")) {
    using std::chrono::milliseconds;
    flor::detail::lock_patience = {milliseconds(50), milliseconds(10), milliseconds(300)};
    // Ranks wait for each other in earnest, on a busy machine for long: that is no fault.
    if (std::getenv("RANK")) {
      flor::detail::lock_patience = {milliseconds(2000), milliseconds(10), milliseconds(5000)};
    }
    flor::detail::rank_patience = {milliseconds(100), milliseconds(20)};
  }
  if (!std::getenv("STORM_SYNC")) Disk::do_not_sync();
  try {
    train(argc, argv);
  } catch (const std::bad_alloc&) {
    return 1;
  }
  if (std::getenv("ACCIDENT")) std::fprintf(stderr, "changes %d\n", Disk::changes());
  if (std::getenv("PATIENT")) {
    std::fprintf(stderr, "slept %lld\n", static_cast<long long>(slept_us / 1'000));
  }
}
