// Finds the checkpoints of Flor's own runs as soon as they are committed. The store's bell, a file
// that every recording process touches, wakes it.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "watch/checkpoint_source.h"

#include <flor/store/store.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::cli {

class RunWatch final : public CheckpointSource {
 public:
  /// `store`: opened for this object alone, so that it never waits for other transactions. `poll`:
  /// time between looks, because processes on other machines do not ring a bell that is heard here.
  RunWatch(std::shared_ptr<store::Store> store, std::vector<store::CheckpointScope> scopes,
           std::chrono::milliseconds poll);
  ~RunWatch() override;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  std::vector<std::string> places() const override;
  std::vector<Known> present(std::size_t place) const override;
  std::optional<store::FileIdentity> identify_at(const std::string& path) const override;
  void know(std::size_t place, const std::string& path, const store::FileIdentity& file) override;
  int descriptor() const override { return inotify_; }
  Clock::time_point due() const override { return due_; }
  void step(const std::function<void(FoundCheckpoint)>& hand_over) override;
  std::size_t expected() const override { return running_; }
  std::vector<std::string> incomplete() const override { return {}; }
  std::vector<std::string> remarks() override { return {}; }

 private:
  struct Scope {
    store::CheckpointScope what;
    std::int64_t after = 0;  ///< id of the latest checkpoint that was examined
    std::unordered_map<std::string, store::FileIdentity> known;
  };

  std::shared_ptr<store::Store> store_;
  std::vector<Scope> scopes_;
  std::chrono::milliseconds pause_;
  int inotify_ = -1;
  std::size_t running_ = 0;
  std::int64_t membership_ = 0;  ///< store::membership_mark at the last look
  Clock::time_point due_;
};

}  // namespace flor::cli
