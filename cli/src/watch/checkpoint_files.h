// Prepares checkpoints of Flor's own runs for an evaluator: writes a file that exists during the
// evaluation, or only looks the checkpoint up, for an evaluator that reads it from the store.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "queue/job_queue.h"

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

/// The form in which an evaluator gets a checkpoint of Flor's own runs.
enum class Handover {
  safetensors,
  pt,
  reference,  ///< no file, but KEY@EPOCH (see flor/plugin/evaluator.h)
};
/// Parses the name of a form. Throws UsageError.
Handover parse_handover(const std::string& text);

/// Makes files of checkpoints for leased jobs. Must be called from one thread only.
class FileMaker {
 public:
  struct Made {
    store::Lease lease;
    std::filesystem::path path = {};  ///< path or reference for the evaluator; empty if there is
                                      ///< none
    enum class End {
      made,
      gone,     ///< the content is in no checkpoint any more
      damaged,  ///< the checkpoint cannot be read, or the form cannot hold it; trying again is
                ///< useless
      later,    ///< a temporary reason that is not the checkpoint's fault, such as a full disk
    };
    End end = End::made;
    std::string failure = {};  ///< why there is no path; empty if there is one
  };

  virtual ~FileMaker() = default;
  /// Begins to make the file; `take` returns the result.
  virtual void make(const store::Lease& lease, const store::NewJob& job) = 0;
  /// A descriptor that is readable when `take` has results.
  virtual int descriptor() const = 0;
  virtual std::vector<Made> take() = 0;
  /// Removes the file of an evaluation that has ended or is no longer wanted.
  virtual void drop(const store::Lease& lease) = 0;
};

/// Makes the files in a thread of its own, because writing a large one takes longer than a lease
/// may go without renewal. The files lie below `scratch/OWNER` in the store's home.
class CheckpointFiles final : public FileMaker {
 public:
  /// `owner`: key of the lock that this process holds. Removes files that dead processes have left.
  CheckpointFiles(std::shared_ptr<store::Store> store, std::string owner, Handover form);
  /// Removes all files. If a file is being written, waits only until its current tensor is written.
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
  std::deque<Order> orders_;  // guarded by mutex_
  std::vector<Made> made_;    // guarded by mutex_
  std::jthread thread_;
};

/// Removes files that processes which have died left in the store. `flor gc` calls it, too.
void remove_abandoned_files(const store::Store& store);

}  // namespace flor::cli
