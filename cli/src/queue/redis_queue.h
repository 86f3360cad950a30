// The queue of evaluations in a Redis server, which several machines share.
#pragma once

#include "queue/job_ledger.h"
#include "queue/jobs.h"
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

/// Every change is one script, so it happens as a whole or not at all; its durability is up to the
/// server. Times are the server's. Additions and results of this machine are also written to its
/// home (JobLedger), after they are in the queue; so a server that comes back with less is reminded
/// of them by any process that exchanges or listens to the bell.
class RedisQueue final : public store::JobQueue {
 public:
  /// Connects. `clock` replaces the server's, for tests. Throws what RedisConnection throws.
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
  /// An answer is as durable as the settings of the server make it.
  void sync() override {}

 private:
  using Words = std::vector<std::string>;
  using Entry = store::JobLedger::Entry;
  struct Server;  // the connection, and facts about the server at its end
  struct Step;    // one call of the script for an exchange
  struct Offer;   // results of reminding a queue that has forgotten

  /// Runs a command in whatever life the queue is.
  RedisReply run(const std::string& command, const Words& words) const;
  /// Answers `kForgotten` if the queue is in another life than this object knew.
  RedisReply run_in_this_life(const std::string& command, const Words& words) const;
  Words request(const std::string& command, const Words& words) const;
  RedisReply run_once(const std::string& command, const Words& words) const;
  void connect() const;
  /// Learns in which life the queue is; called for a new connection, and when the queue says that
  /// it has forgotten.
  void attach() const;
  /// Once in each life of the queue: tells it what this machine knows, and learns what became of
  /// that.
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
  std::string place_;  ///< begins the owners of this place
  mutable std::recursive_mutex mutex_;
  std::unique_ptr<Server> server_;
  mutable std::map<std::int64_t, store::Evaluator> evaluators_;
  std::string owner_;  ///< of the latest exchange
  std::int64_t lease_us_ = 0;
  /// Leases given to this object, by token. The number of a job may have changed since then.
  std::map<std::int64_t, store::LeasedJob> held_;
  std::set<std::string> holders_;  ///< owners of leases, as they were last seen
  /// Answers that `exchange` has received but not returned yet, because something failed after
  /// them.
  struct Untold {
    std::map<store::Lease, bool> heard = {};  ///< reports other than `alive`: accepted?
    std::vector<store::LeasedJob> leases = {};
  };
  Untold untold_;
  /// Orders that were sent but not answered, or whose answer could not be written to the home.
  struct Unanswered {
    store::JobOrders orders;
    Words words;
  };
  std::optional<Unanswered> unanswered_;
  std::string self_;  ///< begins the names of this object's exchanges
  std::int64_t exchanges_ = 0;
  std::vector<std::string> remarks_;  ///< for the next reply
  std::string reminded_;              ///< the life in which the queue was reminded
  bool rings_ = false;                ///< the bell was asked for
  RedisBell bell_;
};

}  // namespace flor::cli
