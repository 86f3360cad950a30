#include "checkpoint/elsewhere.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

extern char** environ;

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kVariable = "FLOR_ELSEWHERE";

/// Added to ids of checkpoints that are elsewhere, which makes them negative but keeps their order.
constexpr std::int64_t kNumbers = -(std::int64_t{1} << 62);

/// How often, and with which pause, to try again while another worker fetches for the same run.
constexpr int kFetchTries = 600;
constexpr std::chrono::milliseconds kFetchPause{100};

struct Outcome {
  int status = -1;
  std::string out, err;
};

/// A nameless file that receives the output of a child process.
class Said {
 public:
  Said() : file_(std::tmpfile()) {
    if (!file_) throw Error("cannot make a temporary file: set TMPDIR to where you may write");
  }
  ~Said() { std::fclose(file_); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  int descriptor() const { return ::fileno(file_); }
  std::string text() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (off_t at = 0;;) {
      const ssize_t got = ::pread(descriptor(), buffer.data(), buffer.size(), at);
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }

 private:
  std::FILE* file_;
};

Outcome run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Said out, err;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.descriptor(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.descriptor(), 2);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(fmt::format("cannot run {}: {}", words[0], std::generic_category().message(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.text(), err.text()};
}

/// Returns the last line of an output, without the program's name.
std::string reason_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  constexpr std::string_view kPrefix = "flor: ";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return text;
}

}  // namespace

std::string print_place(const CheckpointKey& key) {
  return fmt::format("{}:{}:{}:{}", static_cast<int>(key.kind), key.main_loop, key.iteration,
                     key.loop);
}

CheckpointKey parse_place(std::string_view text) {
  CheckpointKey key;
  int kind = 0;
  const auto wrong = [&] {
    return UsageError(
        fmt::format("'{}' is no place of a checkpoint: KIND:LOOP:ITERATION:NAME", text));
  };
  std::string_view left = text;
  const auto next = [&](auto& number) {
    const std::size_t colon = left.find(':');
    if (colon == left.npos) throw wrong();
    const auto [end, error] = std::from_chars(left.data(), left.data() + colon, number);
    if (error != std::errc() || end != left.data() + colon) throw wrong();
    left.remove_prefix(colon + 1);
  };
  next(kind);
  next(key.main_loop);
  next(key.iteration);
  if (kind < 0 || kind > static_cast<int>(CheckpointKind::saved)) throw wrong();
  key.kind = static_cast<CheckpointKind>(kind);
  key.loop = left;
  return key;
}

const Elsewhere* Elsewhere::of_process() {
  static const std::unique_ptr<Elsewhere> known = []() -> std::unique_ptr<Elsewhere> {
    const char* text = std::getenv(kVariable);
    if (!text || !*text) return nullptr;
    const json parsed = json::parse(text, nullptr, false);
    const auto word = [&](const char* name) {
      if (!parsed.is_object() || !parsed.contains(name) || !parsed[name].is_string()) {
        throw Error(fmt::format("{} is not what flor replay sets it to: unset it", kVariable));
      }
      return parsed[name].get<std::string>();
    };
    return std::make_unique<Elsewhere>(word("facts"), word("flor"), word("url"));
  }();
  return known.get();
}

Elsewhere::Elsewhere(fs::path facts, std::string flor, std::string url)
    : directory_(std::move(facts)),
      flor_(std::move(flor)),
      url_(std::move(url)),
      facts_(Store::open(directory_, OpenMode::existing)) {}

std::string Elsewhere::text() const {
  return json{{"facts", directory_.string()}, {"flor", flor_}, {"url", url_}}.dump();
}

void Elsewhere::add_to(std::vector<CheckpointInfo>& here, const Catalog& catalog,
                       const Run& run) const {
  const auto place = [](const CheckpointInfo& info) {
    return std::tuple(info.key.kind, info.key.main_loop, info.key.iteration, info.key.loop);
  };
  std::set<std::pair<decltype(place(CheckpointInfo())), Digest>> had;
  for (const DiscardedCheckpoint& gone : catalog.discarded(run.id)) {
    had.emplace(place(gone.info), gone.info.digest);
  }
  std::set<decltype(place(CheckpointInfo()))> known;
  for (const CheckpointInfo& info : here) known.insert(place(info));
  std::int64_t id = 0;
  try {
    id = facts_->catalog().resolve(run.key).id;
  } catch (const NotFound&) {
    return;  // belongs to another run
  }
  for (CheckpointInfo& info : facts_->catalog().checkpoints(id)) {
    if (known.contains(place(info))) continue;
    if (!run.origin.from_elsewhere() && !had.contains({place(info), info.digest})) continue;
    info.id += kNumbers;
    here.push_back(std::move(info));
  }
}

CheckpointReader Elsewhere::facts_of(std::int64_t checkpoint) const {
  return {*facts_, checkpoint - kNumbers};
}

std::int64_t Elsewhere::bring(const Store& store, std::int64_t id, std::int64_t checkpoint) const {
  const Run run = store.catalog().run(id).value();
  const CheckpointKey key = facts_of(checkpoint).info().key;
  Outcome outcome;
  for (int tries = 0; tries < kFetchTries; ++tries) {
    outcome = store::run({flor_, "--home", store.home().string(), "fetch", run.key, url_,
                          "--checkpoint", print_place(key), "--json"});
    if (outcome.status != static_cast<int>(ExitStatus::busy)) break;
    std::this_thread::sleep_for(kFetchPause);
  }
  if (outcome.status != 0) {
    throw Error(fmt::format("a checkpoint of run {} did not come from {}: {}", run.key, url_,
                            reason_of(outcome.err)));
  }
  const json report = json::parse(outcome.out, nullptr, false);
  std::uint64_t bytes = 0;
  std::int64_t checkpoints = 0;
  if (report.is_object() && report.contains("runs") && report["runs"].is_array()) {
    for (const json& fetched : report["runs"]) {
      bytes += fetched.value("bytes_received", std::uint64_t{0});
      checkpoints += fetched.value("checkpoints", std::int64_t{0});
    }
  }
  std::ofstream(directory_ / "arrived", std::ios::app)
      << fmt::format("{} {}\n", checkpoints, bytes) << std::flush;
  const auto there = store.catalog().checkpoint(run.id, key);
  if (!there) {
    throw Error(fmt::format("a checkpoint of run {} is not what it is in {}: flor fetch {} {}",
                            run.key, url_, run.key, url_));
  }
  return there->id;
}

Elsewhere::Arrived Elsewhere::arrived() const {
  Arrived sum;
  std::ifstream in(directory_ / "arrived");
  for (std::int64_t checkpoints = 0, bytes = 0; in >> checkpoints >> bytes;) {
    sum.checkpoints += checkpoints;
    sum.bytes += static_cast<std::uint64_t>(bytes);
  }
  return sum;
}

std::vector<CheckpointInfo> reachable_checkpoints(const Catalog& catalog, std::int64_t run) {
  std::vector<CheckpointInfo> list = catalog.checkpoints(run);
  if (const Elsewhere* elsewhere = Elsewhere::of_process()) {
    if (const auto row = catalog.run(run)) elsewhere->add_to(list, catalog, *row);
  }
  return list;
}

}  // namespace flor::store
