// The workers of one evaluator on other machines, in seats that Slurm or ssh has started: gives
// them jobs and collects results. evaluators/seat_protocol.h has the messages.
#pragma once

#include "file/line_log.h"
#include "launch/seat_starter.h"
#include "process/background_calls.h"
#include "watch/evaluators/evaluation_group.h"
#include "watch/evaluators/seat_protocol.h"

#include <deque>
#include <map>
#include <memory>
#include <set>

namespace flor::cli {

struct ClusterPlan {
  EngineWish engine;
  std::string name;                 ///< name of the Slurm jobs
  std::filesystem::path directory;  ///< for messages; must have the same path on all machines
  std::filesystem::path logs;       ///< for the output of attempts; must have the same path on all
                                    ///< machines
  std::chrono::milliseconds silence{40'000};  ///< a seat that is silent for this long counts as
                                              ///< lost
  std::chrono::milliseconds idle{60'000};     ///< how long seats are kept without a job
};

/// While there is something to evaluate, runs one Slurm job with a task for each worker; each task
/// is a seat, which gets a checkpoint when it is free. If a seat is lost, most likely with its
/// node, another seat evaluates its checkpoint. That does not count as a failure, but a job that
/// has lost three seats has failed. The coordinator holds the leases, and messages of a lost seat
/// are ignored, so each job has exactly one result.
class ClusterGroup final : public EvaluationGroup {
 public:
  /// `evaluator`: its id in the queue.
  ClusterGroup(GroupPlan plan, std::int64_t evaluator, ClusterPlan cluster, Note note);
  /// Releases the seats.
  ~ClusterGroup() override;
  ClusterGroup(const ClusterGroup&) = delete;
  ClusterGroup& operator=(const ClusterGroup&) = delete;

  std::int64_t evaluator() const override { return evaluator_; }
  void start() override;
  void add_descriptors(std::vector<pollfd>& waiting) const override;
  Clock::time_point due() const override;
  /// Throws Error if there are no seats and never will be, or if none of them could load the
  /// evaluator.
  void hear(const Tell& tell) override;
  std::size_t wanted() const override;
  void give(store::LeasedJob job) override { backlog_.push_back(std::move(job)); }
  void dispatch() override;
  std::vector<store::Lease> leases() const override;
  std::vector<store::Lease> take_waiting() override;
  void call_off(const store::Lease& lease) override;
  bool is_ready() const override { return true; }
  void stop() override;

 private:
  struct ClusterSeat {
    std::string name, host, job;
    std::int64_t restart = 0;
    store::LineLogReader said;
    std::unique_ptr<store::LineLogWriter> told;
    std::vector<std::string> lines = {};  // not sent yet
    Clock::time_point heard = Clock::now();
    bool is_ready = false, is_gone = false;
    std::vector<store::LeasedJob> jobs = {};
  };

  void look(const Tell& tell);
  bool find_seats();
  void heed(ClusterSeat& seat, const std::string& line, const Tell& tell);
  void hear(ClusterSeat& seat, const std::string& line, const Tell& tell);
  void take_result(ClusterSeat& seat, const nlohmann::json& result, const Tell& tell);
  void lose(ClusterSeat& seat, const std::string& why, const Tell& tell);
  void tell_seats();
  void beat();
  bool has_work() const;
  void look_after_seats();
  void take_start();
  void note_waiting();
  void note_end(const std::string& why);
  void begin();
  void release();
  void leave();
  std::size_t ahead() const;

  GroupPlan plan_;
  std::int64_t evaluator_;
  ClusterPlan cluster_;
  Note note_;
  std::chrono::milliseconds beat_;
  Pace pace_;
  std::unique_ptr<SeatStarter> starter_;  // null if no seats are running or being started
  Background<bool> starting_;
  std::unique_ptr<store::LineLogWriter> watch_;
  std::filesystem::path round_;  // directory of the messages of the present seats
  std::int64_t rounds_ = 0;
  std::map<std::string, std::unique_ptr<ClusterSeat>> seats_;  // by name, including lost ones
  std::deque<store::LeasedJob> backlog_;
  std::map<store::Lease, int> losses_;
  std::optional<double> mean_seconds_;  // mean duration of the latest evaluations
  Clock::time_point next_beat_, next_start_, busy_ = Clock::now();
  std::string noted_;          // the reason for waiting that the user was told last
  bool is_started_ = false;    // whether `starter_` has been started
  bool was_ready_ = false;     // whether any seat was ever ready
  bool is_promising_ = false;  // whether one of the present seats is ready
  int failures_ = 0;           // times in a row that no seat became ready
  std::string fatal_;  // message of the last present seat that could not load the evaluator
};

}  // namespace flor::cli
