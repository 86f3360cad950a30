// The queue of evaluations in the home of a store.
#pragma once

#include "database/database.h"
#include "queue/job_queue.h"
#include "queue/queue_file.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class HomeQueue final : public JobQueue {
 public:
  HomeQueue(const Store& store, Clock clock);
  ~HomeQueue() override;
  HomeQueue(const HomeQueue&) = delete;
  HomeQueue& operator=(const HomeQueue&) = delete;

  std::string name() const override { return {}; }
  JobReplies exchange(const JobOrders& orders) override;
  void sync() override;
  std::int64_t add_evaluator(std::string_view spec, std::string_view digest) override;
  std::vector<Evaluator> evaluators() const override;
  std::vector<Job> jobs(const JobFilter& filter) const override;
  std::int64_t retry(const JobFilter& filter) override;
  std::int64_t cancel(const JobFilter& filter) override;
  std::int64_t drop(const JobFilter& filter) override;
  int bell() override;
  bool hush() override;

 private:
  /// Tells the coordinators of all processes that the queue has changed. It ignores failures:
  /// without the signal coordinators notice the change later, but no job is lost.
  void ring() const;
  template <typename Accept, typename... Values>
  std::int64_t change(const JobFilter& filter, const char* sql, Accept accept,
                      const Values&... values);

  /// Returns the queue file. Looks for it each time, because it may have been created after this
  /// process, which only reads, has begun.
  std::shared_ptr<QueueFile> seen() const;
  /// Returns for each addition whether a result that came with a fetched run answers it.
  std::vector<bool> answered(const JobOrders& orders) const;

  std::shared_ptr<Database> database_;
  std::shared_ptr<QueueFile> queue_;
  Clock clock_;
  int bell_ = -1;  // inotify descriptor for the file `Paths::bell`
};

}  // namespace flor::store
