// Prepares checkpoints of Flor's own for an evaluator: as a file that exists while it is judged, or
// only looked up, to be read in place.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "queue/jobs.h"

#include <flor/store/store.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace flor::cli {

/// The form in which an evaluator gets a checkpoint of Flor's own.
enum class Handover {
  safetensors,
  pt,
  reference,  ///< KEY@EPOCH, see flor/plugin/evaluator.h
};
/// Throws UsageError.
Handover parse_handover(const std::string& text);

/// Makes files of checkpoints for leased jobs. All calls come from one thread.
class FileMaker {
 public:
  struct Made {
    store::Lease lease;
    std::filesystem::path path = {};  ///< for the evaluator; empty if there is none
    enum class End {
      made,
      gone,     ///< its content is in no checkpoint any more
      damaged,  ///< it cannot be read, or the form cannot hold it: trying again will not help
      later,    ///< the disk is full, or something is missing for now: not the checkpoint's fault
    };
    End end = End::made;
    std::string failure = {};  ///< why there is no path
  };

  virtual ~FileMaker() = default;
  /// Begins to make the file; `take` returns the result.
  virtual void make(const store::Lease& lease, const store::NewJob& job) = 0;
  /// Readable when there is something to take.
  virtual int descriptor() const = 0;
  virtual std::vector<Made> take() = 0;
  /// Removes the file of an evaluation that has ended, or is not wanted any more.
  virtual void drop(const store::Lease& lease) = 0;
};

/// Makes the files in a thread of its own: writing a large one takes longer than a lease may stay
/// unrenewed. They lie below `scratch/OWNER` of the store.
class CheckpointFiles final : public FileMaker {
 public:
  /// `owner`: key of the lock that the process holds. Removes files that dead processes left.
  CheckpointFiles(std::shared_ptr<store::Store> store, std::string owner, Handover form);
  /// Removes all files. If one is being made, waits for its current tensor only.
  ~CheckpointFiles() override;
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  void make(const store::Lease& lease, const store::NewJob& job) override;
  int descriptor() const override { return news_; }
  std::vector<Made> take() override;
  void drop(const store::Lease& lease) override;

 private:
  struct Order {
    store::Lease lease;
    store::NewJob job;
  };
  void run(const std::stop_token& stop);
  struct Found {
    std::optional<store::RunUse> use;
    store::NamedCheckpoint named;
  };
  Found find(const store::NewJob& job) const;
  Made make(const Order& order, const std::stop_token& stop) const;
  std::filesystem::path write(const Order& order, const store::NamedCheckpoint& named,
                              const std::stop_token& stop) const;
  std::filesystem::path directory(const store::Lease& lease) const;

  std::shared_ptr<store::Store> store_;
  std::string owner_;
  Handover form_;
  int news_ = -1;  // eventfd
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Order> orders_;  // under the mutex
  std::vector<Made> made_;    // under the mutex
  std::jthread thread_;
};

/// Removes files that were made for processes that have died. `flor gc` does so, too.
void remove_abandoned_files(const store::Store& store);

}  // namespace flor::cli
