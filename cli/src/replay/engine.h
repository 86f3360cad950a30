// Starts the worker processes of a replay, on this machine or in seats on other machines, and
// reports how they ended. The Coordinator gives the workers their work.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ReplayRequest;

/// One process of a worker, as its parent sees it. Lines to and from it arrive in the order in
/// which they were sent (runtime/protocol/protocol.h).
class ReplayProcess {
 public:
  /// The status of a process that did not end by itself: its node failed or was taken away.
  static constexpr int kLost = 256;

  virtual ~ReplayProcess() = default;
  virtual void send(const std::string& line) = 0;
  /// The whole lines that have arrived; never waits. Must be called once more after `ended` has
  /// returned a status, to receive the last lines.
  virtual std::vector<std::string> receive() = 0;
  /// Asks the process to keep what it has completed, and to end.
  virtual void call_off() = 0;
  virtual void kill(int signal) = 0;
  /// The exit status, 128 + the number of the signal, or kLost; nullopt while it runs.
  virtual std::optional<int> ended() = 0;
  /// After its end: the last line of its output, which most likely tells why it ended.
  virtual std::string last_words() const = 0;
  /// Descriptors that become readable when there is something to receive; empty if there are none.
  virtual std::vector<int> events() const { return {}; }
};

/// The value of CUDA_VISIBLE_DEVICES for a worker: the GPUs of all its ranks together, of which
/// each rank takes one by its local rank. `request.gpus` must not be empty.
std::string gpus_of_worker(const ReplayRequest& request, int worker);

class Engine {
 public:
  using Processes = std::vector<std::unique_ptr<ReplayProcess>>;

  virtual ~Engine() = default;
  /// Starts the worker of this number: one process for each rank. Returns no processes if there is
  /// no free place at the moment. Throws Error if it cannot be started at all.
  virtual Processes start(int worker) = 0;
  /// The file that receives the output of this process.
  virtual std::filesystem::path log_of(int worker, std::size_t rank) const = 0;
  /// The longest time until `look` must be called again.
  virtual std::chrono::milliseconds patience() const { return std::chrono::milliseconds(200); }
  /// Checks the places. Returns a reason if there will never be a place again.
  virtual std::optional<std::string> look() { return std::nullopt; }
  /// The reason why there is no place at the moment; empty if the engine is not waiting for one.
  virtual std::string waiting_for() const { return {}; }
  /// Tells the engine the catalog's ids of the replays, one for each rank.
  virtual void note_replays(const std::vector<std::int64_t>&) {}
  /// Whether processes send their findings to the coordinator instead of writing them to the store.
  virtual bool hands_in() const = 0;
  /// Whether processes run on other machines, which may vanish.
  virtual bool is_elsewhere() const { return false; }
  /// Releases the places, because all work is done or no longer wanted.
  virtual void finish() {}
};

/// The name of a process, for its log: "worker-0" or "worker-0-rank-1".
std::string worker_name(const ReplayRequest& request, int worker, std::size_t rank);

/// An engine that starts processes on this machine. `request` must outlive it.
std::unique_ptr<Engine> local_engine(const ReplayRequest& request);

}  // namespace flor::cli
