// This process as a worker of `flor replay`, which sends it pieces of work through a socket.
#pragma once

#include "protocol/flags.h"
#include "worker/assignment.h"

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// Whether the process was started as a worker.
bool is_worker();
/// The worker's order, as flags. Removes the worker's variable from the environment, so that
/// processes which the program starts are no workers. Throws Error if there is no socket, and ends
/// the process if `flor replay` has already gone.
Flags worker_flags(int& argc, char** argv);

/// Work that `flor replay` hands out. `digest` is that of this program.
class HandedOut final : public Assignment {
 public:
  /// `plugin` is the digest of the plug-in that this program has loaded, or empty.
  HandedOut(int socket, const std::string& digest, const std::string& plugin);

  /// The id of the replay in the catalog. It is known after the first `next`.
  std::int64_t replay() const { return replay_; }

  Epochs next(const Position& position) override;
  bool keeps(std::int64_t section) const override { return kept_.contains(section); }
  bool keeps_from(std::int64_t section) const override {
    return kept_.lower_bound(section) != kept_.end();
  }
  bool may_end(std::int64_t section) const override {
    return finished_ && kept_.lower_bound(section) == kept_.end();
  }
  void completed(const std::vector<store::ReplayedPart>& parts) override;
  void report(const WorkDone& work) override;
  void proved(const ProvedStates& states) override;
  bool called_off() const override;
  /// Sends a finding to `flor replay`. Thread-safe.
  void hand_in(const std::string& line) { send(line); }

 private:
  void send(const std::string& line);
  std::string receive();

  int socket_;
  std::mutex sending_;
  std::string pending_;  // received, but not yet a complete line
  std::int64_t replay_ = 0;
  std::set<std::int64_t> kept_;
  bool finished_ = false;
};

}  // namespace flor::detail
