// Shares a replay with other machines through a directory: it has a snapshot of the store, a
// description of the work, and the logs in which the dispatcher and the seats write messages.
//
//   DIRECTORY/lock             held by the dispatcher, the `flor replay` that owns the store
//   DIRECTORY/store/           a snapshot of the store
//   DIRECTORY/work             the work of a seat (Work)
//   DIRECTORY/replays          ids of the replays in the catalog, for recovery after a crash
//   DIRECTORY/seats/NAME.said  messages of a seat, with all findings of its workers
//   DIRECTORY/seats/NAME.told  messages to that seat
//   DIRECTORY/logs/            output of the workers
//
// A seat is a process `flor __seat DIRECTORY` on some machine. Messages in both directions are
// lines of a LineLog:
//
//   seat                                dispatcher
//   here HOST
//                                       start NUMBER     the worker of this number, all its ranks
//   RANK LINE                           RANK LINE        of protocol.h
//                                       off              keep what is complete, and end
//                                       kill RANK SIGNAL
//   ended RANK STATUS WORDS
//   free                                                 all ranks have ended
//   beat                                beat             every few seconds
//                                       leave
//   left WHY                                             the last line
#pragma once

#include "replay/replay_coordinator.h"

#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The work that all seats of a session share. Written once.
struct Work {
  struct Rank {
    Launch launch;
    detail::WorkerOrder order;
    std::optional<store::RankPlace> place;
  };
  std::vector<Rank> ranks;
  double patience = 0;  ///< seconds of silence after which the other side counts as dead
  /// An object store from which each machine fetches `epochs` of `run`, instead of reading the
  /// snapshot; empty: none.
  std::string from, run, epochs;

  void write(const std::filesystem::path& file) const;
  /// Throws NotFound if there is no such file.
  static Work read(const std::filesystem::path& file);
  /// Seconds between two "beat" messages.
  double beat() const { return patience / 8; }
};

class SeatSession {
 public:
  /// Makes the directory below `parent`, with the snapshot in it. `request` must outlive the
  /// session.
  SeatSession(store::Store& store, const ReplayRequest& request,
              const std::filesystem::path& parent);
  /// Merges the messages not merged yet, saves the logs, and removes the directory.
  ~SeatSession();
  SeatSession(const SeatSession&) = delete;
  SeatSession& operator=(const SeatSession&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path snapshot() const { return directory_ / "store"; }
  /// The name of the session: unique, and usable as the name of a job.
  std::string name() const { return directory_.filename().string(); }

  void write_work(const Work& work) const;
  void note_replays(const std::vector<std::int64_t>& replays) const;
  /// The names of the seats that have arrived.
  std::vector<std::string> seats() const;
  std::filesystem::path said(const std::string& seat) const;
  std::filesystem::path told(const std::string& seat) const;
  std::filesystem::path log(int worker, std::size_t rank) const;

 private:
  store::Store& store_;
  const ReplayRequest& request_;
  std::filesystem::path directory_;
  int lock_ = -1;
  std::vector<store::RunUse> uses_;
};

/// The directory below which sessions are made: in the store, unless the wish names another.
std::filesystem::path sessions_in(const store::Store& store, const EngineWish& wish);

/// Merges what the workers of killed dispatchers completed, and removes the sessions below `parent`
/// that they left. Calls `cancel` with each session's directory first. Returns the number of merged
/// parts.
std::int64_t recover_sessions(store::Store& store, const std::filesystem::path& parent,
                              const std::function<void(const std::filesystem::path&)>& cancel);

}  // namespace flor::cli
