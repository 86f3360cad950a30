#include "doctor/rank_meeting.h"

#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/new_file.h"
#include "file/random.h"
#include "output/time.h"
#include "protocol/ranks.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <thread>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(50);
/// For files that others have seen and may not have removed yet.
constexpr std::chrono::seconds kParting{5};
constexpr std::size_t kWritten = std::size_t{16} << 20;
constexpr std::uintmax_t kFactsMax = 64 << 10;

std::optional<std::int64_t> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const std::string_view word = text;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// Empty where it has no such text: another version may write something else.
std::string text_in(const Json& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class MeetingPlace {
 public:
  MeetingPlace(const fs::path& home, const LaunchedRank& self)
      : directory_(home / "doctor" / name_of(self.launch)) {
    std::error_code error;
    store::make_home(home, error);
    store::require_directory_in_home(directory_);
  }

  const fs::path& directory() const { return directory_; }
  fs::path file(const std::string& name) const { return directory_ / name; }
  static std::string of_rank(std::int64_t rank) { return fmt::format("{}.json", rank); }

  void write(const std::string& name, const Json& json) const {
    const std::string text = compact(json);
    store::write_file(file(name), std::as_bytes(std::span(text)));
  }
  /// Nothing where it is not there, or is not what a rank wrote.
  std::optional<Json> read(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    if (!in) return std::nullopt;
    std::string text(kFactsMax, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
  }
  void remove(const std::string& name) const {
    std::error_code ignored;
    fs::remove(file(name), ignored);
  }
  void remove_all() const {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    fs::remove(directory_.parent_path(), ignored);  // unless another job meets
  }

 private:
  static std::string name_of(const std::string& launch) {
    return store::digest_of(std::as_bytes(std::span(launch))).hex().substr(0, 16);
  }

  fs::path directory_;
};

/// A lock in the meeting place, as the home has others.
class SharedLock {
 public:
  /// `tries`: of a rank that may find it held by one that answers a call of an earlier job.
  explicit SharedLock(const MeetingPlace& place, int tries = 1)
      : descriptor_(store::open_in_home(place.file("lock"), O_RDWR | O_CREAT)) {
    while (descriptor_ >= 0 && !held_ && tries-- > 0) {
      held_ = store::lock_file(descriptor_, LOCK_EX | LOCK_NB);
      if (!held_ && tries > 0) std::this_thread::sleep_for(kLook);
    }
  }
  ~SharedLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
  bool is_held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

/// Bytes a second that come to the disk; noise, which no file system makes smaller.
double measured_writing(const MeetingPlace& place, std::int64_t rank) {
  std::vector<std::byte> noise(kWritten);
  std::minstd_rand random(static_cast<unsigned>(rank) + 1);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random() >> 8);
  const std::string name = fmt::format("{}.written", rank);
  const auto began = Clock::now();
  try {
    store::write_file(place.file(name), noise);
  } catch (const Error&) {
    place.remove(name);
    throw;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  place.remove(name);
  return static_cast<double>(kWritten) / std::max(seconds, 1e-6);
}

Finding absent_first(const fs::path& home, double seconds) {
  return {"ranks", Health::failure,
          fmt::format("rank 0 did not come to {} within {}", home.string(), duration(seconds)),
          "look whether it was started, and which FLOR_HOME it has: flor config there"};
}

/// Another rank than 0: answers each call of rank 0 until there is a result for one of them.
RankReport answer_first(const MeetingPlace& place, const fs::path& home, const LaunchedRank& self,
                        std::chrono::duration<double> patience) {
  RankFacts facts = facts_of_this_rank(self.rank);
  const std::string own = MeetingPlace::of_rank(self.rank);
  std::string answered;
  const auto wait = std::chrono::duration_cast<Clock::duration>(patience);
  for (auto until = Clock::now() + wait; Clock::now() < until; std::this_thread::sleep_for(kLook)) {
    if (const auto result = place.read("result");
        result && !answered.empty() && text_in(*result, "call") == answered) {
      place.remove(own);
      return {.ranks = {}, .findings = {}, .fails = text_in(*result, "status") != "ok"};
    }
    const auto call = place.read(MeetingPlace::of_rank(0));
    if (!call || text_in(*call, "call") == answered) continue;
    answered = text_in(*call, "call");
    facts.respects_lock = !SharedLock(place).is_held();
    facts.written_bytes = measured_writing(place, self.rank);
    Json answer = rank_json(facts);
    answer["call"] = answered;
    answer["now_us"] = now_us();
    place.write(own, answer);
    until = Clock::now() + wait;
  }
  place.remove(own);
  RankReport report{.ranks = {}, .findings = {absent_first(home, patience.count())}, .fails = true};
  if (!answered.empty()) {
    report.findings.front().what = fmt::format("rank 0 came to {}, and has no result after {}",
                                               home.string(), duration(patience.count()));
  }
  return report;
}

/// The least by which the clock of an answer is off: it was written between two moments of ours.
double clock_off(std::int64_t written_us, std::int64_t after_us, std::int64_t before_us) {
  const std::int64_t nearest = std::clamp(written_us, after_us, before_us);
  return 1e-6 * static_cast<double>(written_us - nearest);
}

/// The answer of a rank; of one whose version of Flor says other things, that version.
RankFacts facts_in(const Json& answer) {
  try {
    return rank_of_json(answer);
  } catch (const Error&) {
    RankFacts facts;
    facts.flor = text_in(answer, "flor");
    return facts;
  }
}

/// Tells the others that there is no result, as far as the home takes that, and leaves nothing.
void give_up(const MeetingPlace& place, const std::string& call) {
  try {
    place.write("result", {{"call", call}, {"status", "fails"}});
    std::this_thread::sleep_for(std::chrono::seconds(1));  // they look twenty times a second
  } catch (const Error&) {
  }
  place.remove_all();
}

/// Rank 0: calls the others, and tells them the result.
RankReport call_others(const MeetingPlace& place, const LaunchedRank& self,
                       std::chrono::duration<double> patience) {
  RankReport report;
  RankFacts own = facts_of_this_rank(0);
  constexpr int kTries = 20;
  const SharedLock lock(place, kTries);
  const std::string call = fmt::format("{:016x}", store::random_bits());
  const std::int64_t called_us = now_us();
  try {
    place.write(MeetingPlace::of_rank(0), {{"call", call}});
    own.written_bytes = measured_writing(place, 0);
  } catch (const Error&) {
    give_up(place, call);
    throw;
  }
  std::map<std::int64_t, RankFacts> came{{0, std::move(own)}};
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  while (std::ssize(came) < self.world && Clock::now() < until) {
    for (std::int64_t rank = 1; rank < self.world; ++rank) {
      if (came.contains(rank)) continue;
      const auto answer = place.read(MeetingPlace::of_rank(rank));
      if (!answer || text_in(*answer, "call") != call) continue;
      const Json written_us = answer->value("now_us", Json(called_us));
      RankFacts facts = facts_in(*answer);
      facts.rank = rank;
      if (written_us.is_number_integer()) {
        facts.clock_seconds = clock_off(written_us.get<std::int64_t>(), called_us, now_us());
      }
      came.emplace(rank, std::move(facts));
    }
    std::this_thread::sleep_for(kLook);
  }
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < self.world; ++rank) {
    const auto found = came.find(rank);
    found == came.end() ? missing.push_back(rank) : report.ranks.push_back(found->second);
  }
  examine_ranks(report.ranks, missing, report.findings);
  if (!lock.is_held()) {
    report.findings.push_back(
        {"locks", Health::failure, "the home gives rank 0 no lock", "see flor doctor there"});
  }
  report.fails = std::ranges::any_of(
      report.findings, [](const Finding& finding) { return finding.health == Health::failure; });
  place.write("result", {{"call", call}, {"status", report.fails ? "fails" : "ok"}});
  const auto parting = Clock::now() + kParting;
  const auto is_gone = [&](const RankFacts& rank) {
    return rank.rank == 0 || !fs::exists(place.file(MeetingPlace::of_rank(rank.rank)));
  };
  while (!std::ranges::all_of(report.ranks, is_gone) && Clock::now() < parting) {
    std::this_thread::sleep_for(kLook);
  }
  place.remove_all();
  return report;
}

}  // namespace

LaunchedRank launched_rank() {
  if (const auto ranks = detail::ranks_here()) {
    return {.rank = ranks->rank, .world = ranks->world, .launch = ranks->launch, .unheard = {}};
  }
  struct Launcher {
    const char *rank, *world, *job;
  };
  constexpr std::array kLaunchers{
      Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
      Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
      Launcher{"PMI_RANK", "PMI_SIZE", "PMI_JOBID"}};
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number_of(launcher.rank), world = number_of(launcher.world);
    if (!rank || !world || *rank < 0 || *rank >= *world || *world < 2) continue;
    const char* const job = std::getenv(launcher.job);
    return {.rank = *rank,
            .world = *world,
            .launch = fmt::format("{} {} {}", launcher.rank, *world, job ? job : ""),
            .unheard = launcher.rank};
  }
  throw UsageError(
      "--ranks: no launcher says which rank of how many this process is: start it by torchrun, "
      "srun "
      "or mpirun, or set RANK and WORLD_SIZE");
}

RankReport meet_ranks(const fs::path& home, const LaunchedRank& self,
                      std::chrono::duration<double> patience) {
  const MeetingPlace place(home, self);
  RankReport report = self.rank == 0 ? call_others(place, self, patience)
                                     : answer_first(place, home, self, patience);
  if (!self.unheard.empty() && self.rank == 0) {
    report.findings.push_back(
        {"launcher", Health::warning,
         fmt::format("{} says which rank this is, and programs that record go by RANK and "
                     "WORLD_SIZE, or by Slurm's variables where MASTER_ADDR is set",
                     self.unheard),
         "set them for each process, or each is recorded as a run that is alone"});
  }
  return report;
}

}  // namespace flor::cli
