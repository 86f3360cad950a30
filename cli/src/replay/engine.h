// Where the processes of a replay run: on this machine, or wherever something else has started a
// seat for them. An engine starts workers and tells how they ended; what they do is the
// Coordinator's.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ReplayRequest;

/// A process of a worker, as its parent sees it: lines go to it and come from it, in the order in
/// which they were said (runtime/protocol/protocol.h).
class ReplayProcess {
 public:
  /// The status of one that was not ended by what it did: its node is gone, or was taken away.
  static constexpr int kLost = 256;

  virtual ~ReplayProcess() = default;
  virtual void send(const std::string& line) = 0;
  /// Whole lines that have arrived; never waits. Once `ended` has answered, the last ones.
  virtual std::vector<std::string> receive() = 0;
  /// Asks it to keep what it has completed and to end.
  virtual void call_off() = 0;
  virtual void kill(int signal) = 0;
  /// Exit status, or 128 + the signal, or kLost.
  virtual std::optional<int> ended() = 0;
  /// Of one that has ended: the last line that it wrote, which is the most likely to say why.
  virtual std::string last_words() const = 0;
  /// Descriptors that can be read when it has something to say, if there are any.
  virtual std::vector<int> events() const { return {}; }
};

/// The value of CUDA_VISIBLE_DEVICES: those of all ranks of a worker together, so that each finds
/// its own by its local rank. `request` names GPUs.
std::string gpus_of_worker(const ReplayRequest& request, int worker);

class Engine {
 public:
  using Processes = std::vector<std::unique_ptr<ReplayProcess>>;

  virtual ~Engine() = default;
  /// Starts the worker of this number: a process for each rank. Empty where there is no place for
  /// one at the moment. Throws Error where it cannot be started at all.
  virtual Processes start(int worker) = 0;
  /// What such a process writes goes there.
  virtual std::filesystem::path log_of(int worker, std::size_t rank) const = 0;
  /// The most time until `look` is to be called again.
  virtual std::chrono::milliseconds patience() const { return std::chrono::milliseconds(200); }
  /// Looks after the places. Says why there will be none any more, however long one waits.
  virtual std::optional<std::string> look() { return std::nullopt; }
  /// What the replay waits for while there is no place; empty: for nothing.
  virtual std::string waiting_for() const { return {}; }
  /// The catalog knows the replay of each rank by these numbers.
  virtual void note_replays(const std::vector<std::int64_t>&) {}
  /// Processes hand in what they find instead of writing the store.
  virtual bool hands_in() const = 0;
  /// On machines that may vanish.
  virtual bool is_elsewhere() const { return false; }
  /// Everything is computed, or nobody wants it any more: gives the places back.
  virtual void finish() {}
};

/// "worker-0", or "worker-0-rank-1".
std::string worker_name(const ReplayRequest& request, int worker, std::size_t rank);

/// Processes of this machine. `request` must outlive it.
std::unique_ptr<Engine> local_engine(const ReplayRequest& request);

}  // namespace flor::cli
