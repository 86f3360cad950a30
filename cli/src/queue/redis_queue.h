// The queue of evaluations in a Redis server, which several machines share.
#pragma once

#include "queue/job_ledger.h"
#include "queue/job_queue.h"
#include "queue/redis_bell.h"
#include "queue/redis_connection.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Every change is one script on the server, so it happens as a whole or not at all; the server's
/// settings decide how durable it is. Times are the server's. After an addition or a result is in
/// the queue it is also written to a ledger in this machine's home (JobLedger). If a restarted
/// server has lost some of them, any process that exchanges or listens to the bell sends them again
/// ("reminds" the queue).
class RedisQueue final : public store::JobQueue {
 public:
  /// Connects. `clock`: for tests, used instead of the server's time. Throws what RedisConnection
  /// throws.
  RedisQueue(const store::Store& store, QueueAddress address, Clock clock = {});
  ~RedisQueue() override;

  std::string name() const override { return address_.name(); }
  store::JobReplies exchange(const store::JobOrders& orders) override;
  std::int64_t add_evaluator(std::string_view spec, std::string_view digest) override;
  std::vector<store::Evaluator> evaluators() const override;
  std::vector<store::Job> jobs(const store::JobFilter& filter) const override;
  std::int64_t retry(const store::JobFilter& filter) override { return change("retry", filter); }
  std::int64_t cancel(const store::JobFilter& filter) override { return change("cancel", filter); }
  std::int64_t drop(const store::JobFilter& filter) override { return change("drop", filter); }
  int bell() override;
  bool hush() override { return bell_.hush(); }
  /// Nothing to do: an answer is as durable as the server's settings make it.
  void sync() override {}

 private:
  using Words = std::vector<std::string>;
  using Entry = store::JobLedger::Entry;
  struct Server;  // the connection, and facts about the server
  struct Step;    // one call of the script during an exchange
  struct Offer;   // Runs a command; if the queue has begun another life, runs it again for the new
                  // life.

  /// Runs a command, reconnecting and reminding the queue if it was restarted.
  RedisReply run(const std::string& command, const Words& words) const;
  /// Runs a command for the queue's known life (see Server::life). Answers `kForgotten` if the
  /// queue has begun another life since.
  RedisReply run_in_this_life(const std::string& command, const Words& words) const;
  Words request(const std::string& command, const Words& words) const;
  RedisReply run_once(const std::string& command, const Words& words) const;
  void connect() const;
  /// Asks the server in which life the queue is. Called for a new connection, and when the queue
  /// answers `kForgotten`.
  void attach() const;
  /// Once in each life of the queue: sends it the ledger of this machine, and learns from the
  /// answers what became of the jobs.
  void remind();
  std::vector<Entry> to_be_told(bool has_forgotten);
  bool tell(std::span<const Entry> entries, Offer& offer);
  void hear(const Entry& entry, const RedisReply& reply, Offer& offer);
  store::LeasedJob* lease_of(const Entry& entry);
  std::int64_t change(const char* action, const store::JobFilter& filter);

  void ask_again();
  store::JobOrders add_most(const store::JobOrders& orders, store::JobReplies& replies);
  RedisReply say_and_take(const store::JobOrders& orders, const Words& words,
                          store::JobReplies& replies);
  void take(const store::JobOrders& orders, const RedisReply& reply, store::JobReplies& replies);
  RedisReply lease_more(const store::JobOrders& orders, Step& step, RedisReply reply);
  Words words_of(const store::JobOrders& orders, const Step& step);
  RedisReply say(const store::JobOrders& orders, const Words& words);
  void add_reports(const store::JobOrders& orders, Words& words) const;
  void add_holders(Words& words) const;
  void add_what(const store::NewJob& what, Words& words) const;
  void take_leases(const RedisReply& reply);
  void keep(const store::JobOrders& orders, const RedisReply& reply,
            const store::JobReplies& replies);
  void forget_leases(const store::JobOrders& orders, const std::vector<bool>& accepted);
  store::LeasedJob held(const store::Lease& lease) const;
  Entry entry(std::int64_t job, const store::NewJob& what) const;
  store::Evaluator evaluator(std::int64_t id) const;
  std::int64_t local_now() const;

  QueueAddress address_;
  Clock clock_;
  store::JobLedger ledger_;
  std::string place_;  ///< prefix of the owners that belong to this machine and home
  mutable std::recursive_mutex mutex_;
  std::unique_ptr<Server> server_;
  mutable std::map<std::int64_t, store::Evaluator> evaluators_;
  std::string owner_;  ///< owner of the latest exchange
  std::int64_t lease_us_ = 0;
  /// Leases that this object holds, by token. Not by the job's id: the queue may have given the job
  /// another id since the lease was given.
  std::map<std::int64_t, store::LeasedJob> held_;
  std::set<std::string> holders_;  ///< owners of leases when they were last read
  /// Answers that an exchange received but did not return, because a later step failed. The next
  /// exchange returns them.
  struct Untold {
    std::map<store::Lease, bool> heard = {};  ///< per reported lease (except `alive`): whether the
                                              ///< report was accepted
    std::vector<store::LeasedJob> leases = {};
  };
  Untold untold_;
  /// Orders that were sent without an answer, or whose answer could not be written to the home.
  /// They are sent again first.
  struct Unanswered {
    store::JobOrders orders;
    Words words;
  };
  std::optional<Unanswered> unanswered_;
  std::string self_;  ///< prefix of the names of this object's exchanges, by which the server
                      ///< recognizes a repeated one
  std::int64_t exchanges_ = 0;
  std::vector<std::string> remarks_;  ///< for the user, returned with the next reply
  std::string reminded_;              ///< the last life in which the queue was reminded
  bool rings_ = false;                ///< whether `bell` was called
  RedisBell bell_;
};

}  // namespace flor::cli
