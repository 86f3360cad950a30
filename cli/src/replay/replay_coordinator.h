// A replay by several processes: starts them, hands out the work, and looks after them.
#pragma once

#include "build/program_launch.h"
#include "launch/seat_starter.h"
#include "process/stop_signals.h"
#include "replay/engine.h"
#include "replay/part_merger.h"
#include "replay/pool.h"
#include "replay/progress.h"

#include <flor/store/store.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// A process of each worker: one rank of a group, or the only one.
struct ReplayedRank {
  store::Run run;
  Launch launch;
};

struct ReplayRequest {
  /// `all`: the ranks in order, each with its launch.
  explicit ReplayRequest(std::vector<ReplayedRank> all)
      : run(all.front().run), launch(all.front().launch), ranks(std::move(all)) {}

  store::Run run;  ///< the run that was asked for, or that of rank 0
  Launch launch;   ///< of that run
  /// The processes of each worker. Collectives need all ranks at the same place, so those of one
  /// worker get the same pieces.
  std::vector<ReplayedRank> ranks;
  /// The version that was built for the replay, if one was.
  std::shared_ptr<VersionWithTree> version;
  detail::WorkerOrder order;
  std::set<std::int64_t> asked;  ///< parts
  RunFacts facts;
  int workers = 1;
  std::vector<std::vector<int>> cores;       ///< of each process, worker by worker; may be empty
  std::vector<std::string> gpus;             ///< shared out among all processes; empty: unchanged
  std::optional<detail::VerifyWish> verify;  ///< epochs to execute besides; nothing: none
  EpochOrder epoch_order = EpochOrder::fastest;
  bool again = false;        ///< computes parts that have been answered before, too
  EngineWish engine;         ///< where the workers run
  std::string from, epochs;  ///< see Work
  bool verbose = false;
  std::filesystem::path logs;
};

using ReplayedParts = std::map<std::int64_t, store::ReplayedPart>;

/// The findings of one rank; those of all ranks form the outcome.
struct RankOutcome {
  std::int64_t replay = 0;  ///< id in the catalog
  ReplayedParts parts;      ///< completed now or earlier
};

struct ReplayOutcome {
  std::int64_t replay = 0;  ///< id in the catalog, of the first rank; 0: nothing was started
  std::vector<RankOutcome> ranks;
  ReplayedParts earlier, done;                 ///< by all ranks, their results added up
  std::map<std::int64_t, std::string> failed;  ///< parts that no worker could do, and why
  detail::WorkDone work;
  std::string digest;  ///< as the program reports it
  double seconds = 0;
  int restarts = 0;
  bool interrupted = false;
  std::set<std::int64_t> missing;  ///< neither done nor failed
  std::string gave_up;             ///< why no worker could do the rest; empty: no such reason
};

/// Work for places that the replay itself no longer needs. The replay does not wait for its end.
class Beside {
 public:
  virtual ~Beside() = default;
  /// Called repeatedly while the place of a worker is free and others still work.
  virtual void offer(const ReplayOutcome& so_far, int worker) = 0;
  /// Descriptors that become readable when `look_after` has something to do.
  virtual std::vector<int> events() const = 0;
  virtual void look_after() = 0;
};

class Coordinator {
 public:
  /// `engine` and `beside` must outlive it. Without `beside` free places stay free.
  Coordinator(store::Store& store, ReplayRequest request, Engine& engine, Progress& progress,
              Beside* beside = nullptr);
  ~Coordinator() = default;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Returns when all parts are done or have failed, or when it was interrupted. Throws Error if
  /// the program cannot be replayed at all.
  ReplayOutcome run();

 private:
  using Clock = std::chrono::steady_clock;
  /// A process of a worker.
  struct Member {
    std::unique_ptr<ReplayProcess> process;
    PartMerger::Hands hands;
    bool starting = true;   ///< has not asked for work yet
    std::size_t asked = 0;  ///< questions
    std::size_t given = 0;  ///< answers
    ReplayedParts done;
    detail::WorkDone work;
    std::string words;      ///< its last line of output, once it has ended
    std::size_t shown = 0;  ///< bytes of the log that were passed on
  };
  /// A worker. The first of its ranks asks, and the others get the same answers.
  struct Slot {
    std::vector<Member> members;
    std::optional<Position> waiting;
    std::vector<ReplayPool::Answer> answers;
    bool running() const;
    bool starting() const;
  };

  void begin(const std::string& digest);
  void add_replay();
  bool start(int slot);
  void fill_slots();
  void offer_free_place();
  void wait();
  void listen(int slot, std::size_t rank);
  void heed(int slot, std::size_t rank, const detail::WorkerLine& line);
  void greet(std::size_t rank, Member& member, const detail::WorkerLine& hello);
  void take_done(int slot, std::size_t rank, const store::ReplayedPart& part);
  void merge();
  std::optional<int> end_of(Member& member) const;
  void note_done(int slot, std::size_t rank, const store::ReplayedPart& part);
  void answer(int slot, const Position& position);
  void hand_on(Slot& slot);
  void answer_waiting();
  void look_after(int slot);
  void note_end(int slot, std::size_t rank, int status);
  void let_others_end(int slot, std::size_t& rank, int& status);
  void note_death(int slot, std::size_t rank, int status);
  bool over();
  void stop();
  void take_last_words(int slot, std::size_t rank);
  void show_progress();
  void tell_first_answers();
  void pass_on(int slot, std::size_t rank);
  std::string plugin_failed() const;
  int running() const;

  store::Store& store_;
  ReplayRequest request_;
  Engine& engine_;
  Progress& progress_;
  Beside* beside_;
  std::vector<Slot> slots_;
  std::vector<PartMerger> mergers_;  // one for each rank, where processes hand in
  struct Handed {
    int slot;
    std::size_t rank;
    store::ReplayedPart part;
  };
  std::vector<Handed> handed_;  // complete, not yet durable
  std::optional<ReplayPool> pool_;
  std::set<std::int64_t> to_do_;
  std::set<std::int64_t> first_wave_;  // not done yet; empty: all of them come at once
  std::int64_t epochs_to_do_ = 0, epochs_done_ = 0;
  ReplayOutcome outcome_;
  std::map<std::int64_t, int> attempts_;
  int failed_starts_ = 0;
  std::string digest_;  // as the workers report it; before that, of the executable
  bool known_ = false;  // a worker has reported it
  StopSignals signals_;
  Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> pool_done_;
  double done_cost_ = 0;
};

}  // namespace flor::cli
