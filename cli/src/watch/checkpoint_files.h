// Checkpoints of Flor's own, made ready for an evaluator: as a file that is there while it is
// judged, or looked up only, to be read in place.
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

/// What an evaluator is given of a checkpoint of Flor's own.
enum class Handover {
  safetensors,
  pt,
  reference,  ///< KEY@EPOCH, see flor/plugin/evaluator.h
};
/// Throws UsageError.
Handover parse_handover(const std::string& text);

/// Makes them in a thread of its own: a large one takes longer than a lease may go without a word.
/// The files lie below `scratch/OWNER` of the store. Other calls come from one thread.
class CheckpointFiles {
 public:
  /// `owner`: key of the lock that the process holds. Removes what processes left that have died.
  CheckpointFiles(std::shared_ptr<store::Store> store, std::string owner, Handover form);
  /// Removes all files. Does not wait for the end of one that is being made, but for that of the
  /// tensor it is at.
  ~CheckpointFiles();
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  /// Begins; `take` gives what becomes of it.
  void make(const store::Lease& lease, const store::NewJob& job);
  struct Made {
    store::Lease lease;
    std::filesystem::path path = {};  ///< for the evaluator; empty if there is none
    enum class End {
      made,
      gone,     ///< its content is in no checkpoint any more
      damaged,  ///< it cannot be read, or the form cannot hold it: that will not change
      later,    ///< the disk is full, or something is missing that may come back: not its fault
    };
    End end = End::made;
    std::string failure = {};  ///< why there is no path
  };
  /// Readable when there is something to take.
  int descriptor() const { return news_; }
  std::vector<Made> take();
  /// The evaluation has ended, or is not wanted any more: its file goes.
  void drop(const store::Lease& lease);

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

/// Removes what was made for processes that have died. `flor gc` does so, too.
void remove_abandoned_files(const store::Store& store);

}  // namespace flor::cli
