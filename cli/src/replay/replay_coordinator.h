// Coordinates a replay by several processes: starts them, hands out the work, and watches them.
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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// A rank that is replayed: a worker has one process for each of them.
struct ReplayedRank {
  store::Run run;
  Launch launch;
};

struct ReplayRequest {
  /// `all`: the ranks in order, not empty.
  explicit ReplayRequest(std::vector<ReplayedRank> all)
      : run(all.front().run), launch(all.front().launch), ranks(std::move(all)) {}

  store::Run run;  ///< the requested run; of a group, the run of rank 0
  Launch launch;   ///< the launch of `run`
  /// The ranks to replay. Each worker runs one process for each of them. All processes of a worker
  /// get the same pieces, because a collective operation waits until every rank has reached it.
  std::vector<ReplayedRank> ranks;
  /// The version that was built for the replay, if one was.
  std::shared_ptr<VersionWithTree> version;
  detail::WorkerOrder order;
  std::set<std::int64_t> asked;  ///< parts to replay
  RunFacts facts;
  int workers = 1;
  std::vector<std::vector<int>> cores;  ///< CPU cores of each process, worker by worker; may be
                                        ///< empty
  std::vector<std::string> gpus;        ///< shared out among all processes; empty:
                                        ///< CUDA_VISIBLE_DEVICES stays
  std::optional<detail::VerifyWish> verify;  ///< epochs to execute for verification; nullopt: none
  EpochOrder epoch_order = EpochOrder::fastest;
  bool check = false;        ///< a test of the program, which fails if nothing could be compared
  bool again = false;        ///< also compute parts that an earlier replay has answered
  EngineWish engine;         ///< where the workers run
  std::string from, epochs;  ///< see Work
  /// Called with the states that a walk has proven, and the id of the replay.
  std::function<void(std::int64_t replay, const detail::ProvedStates&)> proved = {};
  bool verbose = false;
  std::filesystem::path logs;
};

using ReplayedParts = std::map<std::int64_t, store::ReplayedPart>;

/// The findings of one rank.
struct RankOutcome {
  std::int64_t replay = 0;  ///< id in the catalog
  ReplayedParts parts;      ///< completed by this or an earlier replay
};

struct ReplayOutcome {
  std::int64_t replay = 0;  ///< id in the catalog of the first rank's replay; 0: nothing was
                            ///< started
  std::vector<RankOutcome> ranks;
  ReplayedParts earlier, done;                 ///< parts that all ranks completed, earlier and in
                                               ///< this replay, with results added up
  std::map<std::int64_t, std::string> failed;  ///< parts that no worker could complete, and why
  detail::WorkDone work;
  std::string digest;  ///< of the program, as it reports it
  double seconds = 0;
  int restarts = 0;
  bool interrupted = false;
  std::set<std::int64_t> missing;  ///< parts that are neither done nor failed
  std::string gave_up;             ///< why no worker could do the rest; empty if there is no such
                                   ///< reason
};

/// Extra work for places that the replay itself no longer needs. The replay does not wait for its
/// end.
class Beside {
 public:
  virtual ~Beside() = default;
  /// Called repeatedly while the place of worker `worker` is free and other workers still work.
  virtual void offer(const ReplayOutcome& so_far, int worker) = 0;
  /// Descriptors that become readable when `look_after` must be called.
  virtual std::vector<int> events() const = 0;
  virtual void look_after() = 0;
};

class Coordinator {
 public:
  /// `engine` and `beside` must outlive this object. Without `beside`, free places stay unused.
  Coordinator(store::Store& store, ReplayRequest request, Engine& engine, Progress& progress,
              Beside* beside = nullptr);
  ~Coordinator() = default;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Returns when all parts are done or have failed, or when the user interrupted it. Throws Error
  /// if the program cannot be replayed at all.
  ReplayOutcome run();

 private:
  using Clock = std::chrono::steady_clock;
  /// A process of a worker.
  struct Member {
    std::unique_ptr<ReplayProcess> process;
    PartMerger::Hands hands;
    bool starting = true;   ///< whether it has not asked for work yet
    std::size_t asked = 0;  ///< number of questions from it
    std::size_t given = 0;  ///< number of answers sent to it
    ReplayedParts done;
    detail::WorkDone work;
    std::string words;      ///< last line of its output, once it has ended
    std::size_t shown = 0;  ///< bytes of its log that were printed (--verbose)
  };
  /// A worker. Its first rank decides when to ask for work; the other ranks get the same answers.
  struct Slot {
    std::vector<Member> members;
    std::optional<Position> waiting;
    std::vector<ReplayPool::NextTask> answers;
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
  void pass_on(int slot, std::size_t rank);
  std::string plugin_failed() const;
  int running() const;

  store::Store& store_;
  ReplayRequest request_;
  Engine& engine_;
  Progress& progress_;
  Beside* beside_;
  std::vector<Slot> slots_;
  std::vector<PartMerger> mergers_;  // one for each rank, if processes hand in their findings
  struct Handed {
    int slot;
    std::size_t rank;
    store::ReplayedPart part;
  };
  std::vector<Handed> handed_;  // handed in and complete, not yet durable
  std::optional<ReplayPool> pool_;
  std::set<std::int64_t> to_do_;
  struct {
    std::int64_t to_do = 0, done = 0;
    std::set<std::int64_t> first_wave;  // those that are not done; empty: all come in one wave
  } epochs_;
  ReplayOutcome outcome_;
  std::map<std::int64_t, int> attempts_;
  int failed_starts_ = 0;
  std::string digest_;  // the program's digest as a worker reports it; until then, the executable's
  bool known_ = false;  // whether digest_ comes from a worker
  StopSignals signals_;
  Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> pool_done_;
  double done_cost_ = 0;
};

}  // namespace flor::cli
