// This process as a worker of `flor replay`: the socket through which it gets its pieces.
#pragma once

#include "protocol/flags.h"
#include "worker/assignment.h"

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// The process was started as a worker.
bool is_worker();
/// The order of a worker, as flags. Takes the variable out of the environment, so that the
/// processes that the program starts are no workers. Throws Error where there is no socket, and
/// ends the process where `flor replay` is gone already.
Flags worker_flags(int& argc, char** argv);

/// Work as `flor replay` hands it out. `digest`: of this program.
class HandedOut final : public Assignment {
 public:
  /// `plugin`: digest of the plug-in that it has loaded, or empty.
  HandedOut(int socket, const std::string& digest, const std::string& plugin);

  /// The id of the replay in the catalog, known after the first `next`.
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
  bool called_off() const override;
  /// Sends a finding. Thread-safe.
  void hand_in(const std::string& line) { send(line); }

 private:
  void send(const std::string& line);
  std::string receive();

  int socket_;
  std::mutex sending_;
  std::string pending_;  // received, not yet a whole line
  std::int64_t replay_ = 0;
  std::set<std::int64_t> kept_;
  bool finished_ = false;
};

}  // namespace flor::detail
