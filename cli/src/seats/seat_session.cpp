#include "seats/seat_session.h"

#include "file/home_files.h"
#include "file/line_log.h"
#include "file/new_file.h"
#include "maintain/shared_view.h"
#include "replay/part_merger.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <span>
#include <sstream>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json rank_json(const Work::Rank& rank) {
  const Launch& launch = rank.launch;
  json environment = json::object();
  for (const auto& [name, value] : launch.environment) {
    environment[name] = value ? json(*value) : json();
  }
  json place;
  if (rank.place) place = {rank.place->rank, rank.place->world};
  return {{"program", launch.program},     {"command", launch.command},
          {"directory", launch.directory}, {"environment", environment},
          {"order", rank.order.encode()},  {"place", place}};
}

Work::Rank rank_from(const json& text) {
  Work::Rank rank{.launch = Launch(Gate::ordered()), .order = {}, .place = {}};
  rank.launch.program = text.at("program");
  rank.launch.command = text.at("command").get<std::vector<std::string>>();
  rank.launch.directory = text.at("directory");
  for (const auto& [name, value] : text.at("environment").items()) {
    rank.launch.environment[name] =
        value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  }
  rank.order = detail::WorkerOrder::decode(text.at("order").get<std::string>());
  if (const json& place = text.at("place"); !place.is_null()) {
    rank.place = store::RankPlace{.group = 0, .rank = place.at(0), .world = place.at(1)};
  }
  return rank;
}

/// Writes a file atomically.
void write_text(const fs::path& file, std::string_view text) {
  store::write_file(file, std::as_bytes(std::span(text)));
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw NotFound(fmt::format("there is no {}", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> seats_in(const fs::path& directory) {
  std::vector<std::string> seats;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory / "seats", error)) {
    if (entry.path().extension() == ".said") seats.push_back(entry.path().stem().string());
  }
  std::ranges::sort(seats);
  return seats;
}

/// Merges everything that the seats of a session handed in and that is not merged yet. Returns the
/// number of parts.
std::int64_t merge_session(store::Store& store, const fs::path& directory) {
  std::istringstream replays(read_file(directory / "replays"));
  std::vector<PartMerger> mergers;
  std::string key;
  for (std::int64_t replay = 0; replays >> key >> replay;) {
    mergers.emplace_back(store, store.catalog().resolve(key).id, replay);
  }
  std::int64_t merged = 0;
  for (const std::string& seat : seats_in(directory)) {
    std::map<std::size_t, PartMerger::Hands> hands;
    for (const std::string& text :
         store::LineLogReader(directory / "seats" / (seat + ".said")).read()) {
      const std::size_t space = text.find(' ');
      if (text.find_first_not_of("0123456789") != space || space == 0) continue;
      const auto rank = static_cast<std::size_t>(std::stoull(text));
      if (rank >= mergers.size()) continue;
      using Kind = detail::WorkerLine::Kind;
      const auto line = detail::WorkerLine::decode(std::string_view(text).substr(space + 1));
      PartMerger& merger = mergers[rank];
      // A new process drops incomplete values of the one before.
      if (line.kind == Kind::hello) hands[rank] = {};
      if (line.kind == Kind::object) merger.take(line.object);
      if (line.kind == Kind::value) hands[rank].take(line.value);
      if (line.kind == Kind::done) merger.complete(hands[rank], line.part);
    }
    for (PartMerger& merger : mergers) merged += static_cast<std::int64_t>(merger.flush().size());
  }
  return merged;
}

/// Locks a session; returns the descriptor, or -1 if another dispatcher holds the lock. On a file
/// system without locks, only `own` sessions count as locked.
int lock_of(const fs::path& directory, bool own) {
  const int lock = store::open_in_home(directory / "lock", O_RDWR | O_CREAT);
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) == 0 || own) return lock;
  ::close(lock);
  return -1;
}

constexpr const char* kPrefix = "flor-replay-";

std::string new_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", kPrefix, random(), random());
}

}  // namespace

void Work::write(const fs::path& file) const {
  json text = {{"patience", patience}, {"from", from}, {"run", run}, {"epochs", epochs}};
  text["ranks"] = json::array();
  for (const Rank& rank : ranks) text["ranks"].push_back(rank_json(rank));
  const auto bytes = json::to_cbor(text);  // CBOR, because names and paths may contain bytes that
                                           // JSON texts cannot
  write_text(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Work Work::read(const fs::path& file) {
  const std::string bytes = read_file(file);
  try {
    const json text = json::from_cbor(bytes);
    Work work;
    work.patience = text.at("patience");
    work.from = text.at("from");
    work.run = text.at("run");
    work.epochs = text.at("epochs");
    for (const json& rank : text.at("ranks")) work.ranks.push_back(rank_from(rank));
    return work;
  } catch (const json::exception&) {
    throw Damaged(
        fmt::format("{} is not what this flor writes: use the same version of flor on all nodes",
                    file.string()));
  }
}

SeatSession::SeatSession(store::Store& store, const ReplayRequest& request, const fs::path& parent)
    : store_(store), request_(request), directory_(fs::absolute(parent) / new_name()) {
  // The directory has a hidden name until it is locked, so that no process takes it for an
  // abandoned session.
  const fs::path begun = directory_.parent_path() / fmt::format(".{}", name());
  std::error_code error;
  // The directory is private: the command that seats execute is written there, with its secrets.
  store::make_directory_in_home(begun.parent_path(), error);
  if (!error) store::make_private_directory(begun, error);
  if (!error) store::make_directory_in_home(begun / "seats", error);
  if (!error) store::make_directory_in_home(begun / "logs", error);
  lock_ = error ? -1 : lock_of(begun, true);
  if (lock_ >= 0) fs::rename(begun, directory_, error);
  if (lock_ < 0 || error) {
    throw Error(fmt::format("cannot use the directory {}: {}", directory_.string(),
                            error ? error.message() : std::strerror(errno)));
  }
  for (const ReplayedRank& rank : request.ranks) {
    if (auto use = store_.use_run(rank.run.key)) uses_.push_back(std::move(*use));
  }
  store::write_snapshot(store_, snapshot());
}

SeatSession::~SeatSession() {
  try {
    std::error_code error;
    if (fs::exists(directory_ / "replays", error)) merge_session(store_, directory_);
    store::make_directory_in_home(request_.logs.parent_path(), error);
    fs::rename(directory_ / "logs", request_.logs, error);
    if (error) {
      fs::copy(directory_ / "logs", request_.logs, fs::copy_options::recursive, error);
    }
    fs::remove_all(directory_, error);
  } catch (const std::exception&) {  // the next replay merges the rest
  }
  if (lock_ >= 0) ::close(lock_);
}

void SeatSession::write_work(const Work& work) const { work.write(directory_ / "work"); }

void SeatSession::note_replays(const std::vector<std::int64_t>& replays) const {
  std::string text;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    text += fmt::format("{} {}\n", request_.ranks[i].run.key, replays[i]);
  }
  write_text(directory_ / "replays", text);
}

std::vector<std::string> SeatSession::seats() const { return seats_in(directory_); }

fs::path SeatSession::said(const std::string& seat) const {
  return directory_ / "seats" / (seat + ".said");
}
fs::path SeatSession::told(const std::string& seat) const {
  return directory_ / "seats" / (seat + ".told");
}
fs::path SeatSession::log(int worker, std::size_t rank) const {
  return directory_ / "logs" / (worker_name(request_, worker, rank) + ".log");
}

fs::path sessions_in(const store::Store& store, const EngineWish& wish) {
  return wish.shared.empty() ? store.home() / "segments" : fs::path(wish.shared);
}

std::int64_t recover_sessions(store::Store& store, const fs::path& parent,
                              const std::function<void(const fs::path&)>& cancel) {
  std::int64_t merged = 0;
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(parent, error)) found.push_back(entry.path());
  for (const fs::path& directory : found) {
    if (!directory.filename().string().starts_with(kPrefix)) continue;
    const int lock = lock_of(directory, false);
    if (lock < 0) continue;  // the session's dispatcher is alive
    cancel(directory);
    try {
      if (fs::exists(directory / "replays", error)) merged += merge_session(store, directory);
    } catch (const NotFound&) {  // the run has been deleted in the meantime
    }
    fs::remove_all(directory, error);
    ::close(lock);
  }
  return merged;
}

}  // namespace flor::cli
