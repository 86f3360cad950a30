// Where the processes of a replay run: on this machine, or wherever something else has started a
// seat for them. An engine starts workers and reports how they ended; the Coordinator gives them
// their work.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ReplayRequest;

/// A process of a worker, as its parent sees it: lines are sent to it and received from it, each in
/// the order in which they were sent (runtime/protocol/protocol.h).
class ReplayProcess {
 public:
  /// The status of a process that did not end by itself: its node is gone, or was taken away.
  static constexpr int kLost = 256;

  virtual ~ReplayProcess() = default;
  virtual void send(const std::string& line) = 0;
  /// Whole lines that have arrived; never waits. Called once more after `ended` has answered, for
  /// the last ones.
  virtual std::vector<std::string> receive() = 0;
  /// Asks it to keep what it has completed, and to end.
  virtual void call_off() = 0;
  virtual void kill(int signal) = 0;
  /// Exit status, or 128 + the signal, or kLost.
  virtual std::optional<int> ended() = 0;
  /// The last line that a process which has ended wrote, which most likely tells why.
  virtual std::string last_words() const = 0;
  /// Descriptors that become readable when there is something to receive, if there are any.
  virtual std::vector<int> events() const { return {}; }
};

/// The value of CUDA_VISIBLE_DEVICES: the GPUs of all ranks of a worker together, so that each rank
/// finds its own by its local rank. `request` names GPUs.
std::string gpus_of_worker(const ReplayRequest& request, int worker);

class Engine {
 public:
  using Processes = std::vector<std::unique_ptr<ReplayProcess>>;

  virtual ~Engine() = default;
  /// Starts the worker of this number: a process for each rank. Empty if there is no place for one
  /// at the moment. Throws Error if it cannot be started at all.
  virtual Processes start(int worker) = 0;
  /// The file that gets the output of this process.
  virtual std::filesystem::path log_of(int worker, std::size_t rank) const = 0;
  /// The most time until `look` is to be called again.
  virtual std::chrono::milliseconds patience() const { return std::chrono::milliseconds(200); }
  /// Looks after the places. Returns why there will be none any more, however long one waits.
  virtual std::optional<std::string> look() { return std::nullopt; }
  /// The reason why there is no place at the moment; empty if none is awaited.
  virtual std::string waiting_for() const { return {}; }
  /// Tells the engine the number of each rank's replay in the catalog.
  virtual void note_replays(const std::vector<std::int64_t>&) {}
  /// Whether processes hand in their findings instead of writing to the store.
  virtual bool hands_in() const = 0;
  /// Whether they run on machines that may vanish.
  virtual bool is_elsewhere() const { return false; }
  /// Releases the places: everything is computed, or not wanted any more.
  virtual void finish() {}
};

/// "worker-0", or "worker-0-rank-1".
std::string worker_name(const ReplayRequest& request, int worker, std::size_t rank);

/// Processes of this machine. `request` must outlive it.
std::unique_ptr<Engine> local_engine(const ReplayRequest& request);

}  // namespace flor::cli
