// A replay by several processes: starts them, hands out the work, and looks after them.
#pragma once

#include "replay/launch.h"
#include "replay/pool.h"
#include "replay/progress.h"
#include "replay/worker_process.h"

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

struct ReplayRequest {
  store::Run run;
  Launch launch;
  /// What was built for it, if anything was.
  std::shared_ptr<VersionWithTree> version;
  detail::WorkerOrder order;
  std::set<std::int64_t> asked;  ///< parts
  RunFacts facts;
  int workers = 1;
  std::vector<std::vector<int>> cores;  ///< of each worker; may be empty
  std::vector<std::string> gpus;        ///< of each worker; empty: as they are
  bool again = false;                   ///< also what has been answered before
  bool verbose = false;
  std::filesystem::path logs;
};

struct ReplayOutcome {
  std::int64_t replay = 0;  ///< id in the catalog; 0: nothing was started
  std::map<std::int64_t, store::ReplayedPart> earlier, done;
  std::map<std::int64_t, std::string> failed;  ///< parts that nobody could do, and why
  detail::WorkDone work;
  double seconds = 0;
  int restarts = 0;
  bool interrupted = false;
  std::set<std::int64_t> missing;  ///< neither done nor failed
};

class Coordinator {
 public:
  Coordinator(store::Store& store, ReplayRequest request, Progress& progress);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Returns when all is done, when the rest has failed, or when it was interrupted. Throws Error
  /// where the program cannot be replayed at all.
  ReplayOutcome run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    std::unique_ptr<WorkerProcess> process;
    std::optional<Position> waiting;
    bool starting = true;  ///< has not asked for work yet
    detail::WorkDone work;
    std::filesystem::path log;
    std::size_t shown = 0;  ///< bytes of the log that were passed on
  };

  void begin(const std::string& digest);
  void add_replay();
  void start(int slot);
  void fill_slots();
  void wait();
  void listen(int slot);
  void heed(int slot, const detail::WorkerLine& line);
  void answer(int slot, const Position& position);
  void answer_waiting();
  void look_after(int slot);
  void note_death(int slot, int status);
  bool over() const;
  void stop();
  void show_progress();
  void pass_on(Slot& slot, int number);
  std::string last_words(const Slot& slot) const;
  int running() const;

  store::Store& store_;
  ReplayRequest request_;
  Progress& progress_;
  std::vector<Slot> slots_;
  std::optional<ReplayPool> pool_;
  std::set<std::int64_t> to_do_;
  ReplayOutcome outcome_;
  std::map<std::int64_t, int> attempts_;
  int failed_starts_ = 0;
  std::string digest_;  // what the workers say of themselves; before that, of the executable
  bool known_ = false;  // one has said it
  int signals_ = -1;
  Clock::time_point began_ = Clock::now();
  double done_cost_ = 0;
};

}  // namespace flor::cli
