// The desk between a watch and the queue of evaluations: what is to be told to the queue, which
// leases came back, and which results may be shown.
#pragma once

#include "queue/jobs.h"
#include "watch/accepted_results.h"
#include "watch/evaluators/evaluation_group.h"
#include "watch/retry_pause.h"
#include "watch/watch_plan.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// How many jobs an evaluator could take.
struct Demand {
  std::int64_t evaluator = 0;
  std::size_t count = 0;
};

/// A moment by the clock that times are waited for with, and by the one that the queue knows.
struct Moment {
  std::chrono::steady_clock::time_point now;
  std::int64_t unix_us = 0;
};

/// Collects orders (reports about leases, new jobs, sightings) for the next exchange with the
/// queue, of which one may run at a time; the caller carries it out, in whatever thread, and brings
/// the replies. The way of a result:
///
///   end        a worker has a verdict; it is an order
///   take       the queue has accepted it: its event waits to be durable
///   synced     it is durable: the user may be told (AcceptedResults)
///
/// An exchange that fails loses no order: all are said again, before later ones. Reports that a
/// lease lives are the exception, as they are made anew. A report that the queue refuses (its lease
/// was lost, cancelled or dropped) has no event.
///
/// Pure, apart from notes to the user: no thread, no clock, no queue. Not thread-safe.
class JobDesk {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The bell of the queue announces what other processes do; this interval is the fallback.
  static constexpr std::chrono::milliseconds kLook{60'000};
  /// Between tries to write what cannot be written.
  static constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{10'000};

  /// `terms`: owner, lease and retries of all exchanges. `order`: in which jobs are leased. The
  /// first heartbeat and the first look are counted from `now`.
  JobDesk(store::JobOrders terms, store::JobOrder order, WatchNote note, Time now);

  // Orders.
  void add(store::NewJob job) { orders_.additions.push_back(std::move(job)); }
  void saw(store::Sighting sighting) { orders_.sightings.push_back(std::move(sighting)); }
  /// A leased job was not tried: another worker may try it at once.
  void give_back(const store::Lease& lease);
  void give_back(const std::vector<store::Lease>& leases);
  /// The checkpoint of a leased job is gone.
  void forget(const store::Lease& lease);
  /// A leased job has its verdict. `path`: of its checkpoint, as users know it.
  void end(Verdict verdict, std::string path);
  /// Jobs that the queue does not know yet go to the new version of an evaluator.
  void replace_evaluator(std::int64_t old, std::int64_t now);
  /// Whether there is anything to say.
  bool has_orders() const;
  /// Orders with the terms and nothing else.
  const store::JobOrders& terms() const { return terms_; }

  // Exchanges.
  /// The queue has changed: asks it soon, and whether all leases still live.
  void ring(Time now);
  /// Asks the queue for jobs at the next occasion.
  void look() { look_ = true; }
  /// Whether an exchange is to begin. `holds`: there are leases without verdict.
  bool is_due(const Moment& at, const std::vector<Demand>& demands, bool holds) const;
  /// When one is due, or a sync, unless something happens before that.
  Time due(const Moment& at, const std::vector<Demand>& demands, bool holds) const;
  /// Begins one. The orders stay as they are until `take` or `failed`. `held`: all leases without
  /// verdict, which are prolonged when that is due.
  const store::JobOrders& begin(const Moment& at, const std::vector<store::Lease>& held,
                                const std::vector<Demand>& demands);
  /// Begins the exchange that ends the watch: nothing is leased or prolonged.
  const store::JobOrders& begin_last();
  bool is_exchanging() const { return exchanging_; }

  struct News {
    std::vector<store::LeasedJob> leases;  ///< to be evaluated
    std::vector<store::Lease> called_off;  ///< lost: their evaluation is to be stopped
  };
  News take(const store::JobReplies& replies);
  void failed(Time now, const std::string& why);
  /// Whether the latest exchange failed.
  bool fails() const { return pause_.fails(); }

  // Results.
  /// Those that the queue has accepted.
  AcceptedResults& accepted() { return accepted_; }
  const AcceptedResults& accepted() const { return accepted_; }
  /// How many results are not durable, or not even accepted.
  std::size_t unpublished() const { return events_.size() + accepted_.size(); }

  // Ends.
  /// Whether there is nothing to do: nothing waits here, and an exchange that began when all else
  /// rested (`rests`) found no job. Otherwise asks the queue once more.
  bool is_idle(bool rests);
  /// Why it has failed for longer than that; nothing if it has not.
  std::optional<std::string> failure(Time now, std::chrono::milliseconds patience) const;

 private:
  void add_heartbeats(Time now, const std::vector<store::Lease>& held);
  void begin_saying();
  void note_copies(const store::JobReplies& replies);
  Time next_lease(const Moment& at, const std::vector<Demand>& demands) const;

  store::JobOrders terms_;
  store::JobOrder order_;
  WatchNote note_;
  store::JobOrders orders_;                  // of the next exchange
  store::JobOrders said_;                    // of the one that runs, or ran
  std::map<store::Lease, JobEvent> events_;  // reported to the queue, or to be
  AcceptedResults accepted_;
  std::optional<std::int64_t> next_us_;      // when there may be more to lease
  std::set<std::int64_t> exhausted_;  // evaluators that the latest exchange had no more jobs for
  std::size_t demands_ = 0;           // of the latest exchange: evaluators
  Moment asked_;              // when it began
  Time next_heartbeat_, next_look_;
  bool look_ = true, exchanging_ = false;
  bool found_nothing_open_ = false;  // by an exchange that began when all else was idle
  RetryPause pause_{kFirstPause, kLongestPause};
};

}  // namespace flor::cli
