#include "watch/job_desk.h"

#include "output/terminal_text.h"

#include <flor/store/secrets.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using store::JobReport;

/// A delay, see `next_lease`.
constexpr milliseconds kHidden{1000};

template <typename T>
void put_before(std::vector<T> first, std::vector<T>& rest) {
  first.insert(first.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
  rest = std::move(first);
}

std::chrono::microseconds third(const store::JobOrders& terms) {
  return std::chrono::microseconds(terms.lease_us) / 3;
}

}  // namespace

JobDesk::JobDesk(store::JobOrders terms, store::JobOrder order, WatchNote note, Time now)
    : terms_(std::move(terms)),
      order_(order),
      note_(std::move(note)),
      orders_(terms_),
      accepted_(note_),
      asked_{.now = now},
      next_heartbeat_(now + third(terms_)),
      next_look_(now + kLook) {}

// ---------------------------------------------------------------------------------------------
// Orders.

void JobDesk::give_back(const store::Lease& lease) {
  orders_.reports.push_back({lease, JobReport::Kind::back});
}

void JobDesk::give_back(const std::vector<store::Lease>& leases) {
  for (const store::Lease& lease : leases) give_back(lease);
}

void JobDesk::forget(const store::Lease& lease) {
  orders_.reports.push_back({lease, JobReport::Kind::gone});
}

void JobDesk::end(Verdict verdict, std::string path) {
  if (!verdict.good) verdict.text = store::masked(verdict.text);
  const bool last = verdict.job.attempt >= terms_.retries.attempts;
  const auto kind = verdict.good ? JobEvent::Kind::done
                    : last       ? JobEvent::Kind::dead
                                 : JobEvent::Kind::failed;
  events_[verdict.job.lease] = {.kind = kind,
                                .job = verdict.job.lease.job,
                                .path = std::move(path),
                                .text = verdict.text,
                                .seconds = verdict.seconds};
  orders_.reports.push_back({verdict.job.lease,
                             verdict.good ? JobReport::Kind::done : JobReport::Kind::failed,
                             std::move(verdict.text)});
}

void JobDesk::replace_evaluator(std::int64_t old, std::int64_t now) {
  for (store::NewJob& job : orders_.additions) {
    if (job.evaluator == old) job.evaluator = now;
  }
  look();
}

bool JobDesk::has_orders() const {
  return !orders_.reports.empty() || !orders_.additions.empty() || !orders_.sightings.empty();
}

// ---------------------------------------------------------------------------------------------
// Exchanges.

void JobDesk::ring(Time now) {
  look_ = true;
  next_heartbeat_ = now;  // a running job may have been cancelled
}

bool JobDesk::is_due(const Moment& at, const std::vector<Demand>& demands, bool holds) const {
  if (exchanging_ || !pause_.may_try(at.now)) return false;
  const bool beats = holds && at.now >= next_heartbeat_;
  return look_ || at.now >= next_look_ || has_orders() || beats ||
         at.now >= next_lease(at, demands);
}

JobDesk::Time JobDesk::due(const Moment& at, const std::vector<Demand>& demands, bool holds) const {
  const Time sync = accepted_.due();
  if (exchanging_) return sync;
  if (fails()) return std::min(sync, pause_.next());
  if (look_ || has_orders()) return at.now;
  Time due = std::min({sync, next_look_, next_lease(at, demands)});
  if (holds) due = std::min(due, next_heartbeat_);
  return due;
}

/// The earliest time at which the queue may have a job for a free worker.
JobDesk::Time JobDesk::next_lease(const Moment& at, const std::vector<Demand>& demands) const {
  bool wants = false;
  for (const Demand& demand : demands) {
    if (demand.count == 0) continue;
    if (!exhausted_.contains(demand.evaluator)) return at.now;
    wants = true;
  }
  if (!wants || !next_us_) return Time::max();
  // If next_us_ was past when the queue was asked, it belongs to a job of a busy group, and may
  // hide a later job of another group; so the queue is asked again after kHidden.
  if (*next_us_ < asked_.unix_us) return asked_.now + kHidden;
  // One millisecond later, so that it is not too early.
  return at.now +
         std::chrono::microseconds(std::max<std::int64_t>(*next_us_ + 1000 - at.unix_us, 0));
}

const store::JobOrders& JobDesk::begin(const Moment& at, const std::vector<store::Lease>& held,
                                       const std::vector<Demand>& demands) {
  add_heartbeats(at.now, held);
  look_ = false;
  asked_ = at;
  next_look_ = at.now + kLook;
  begin_saying();
  for (const Demand& demand : demands) {
    if (demand.count > 0) said_.requests.push_back({demand.evaluator, demand.count, order_});
  }
  demands_ = demands.size();
  return said_;
}

const store::JobOrders& JobDesk::begin_last() {
  begin_saying();
  demands_ = 0;
  return said_;
}

void JobDesk::add_heartbeats(Time now, const std::vector<store::Lease>& held) {
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + third(terms_);
  for (const store::Lease& lease : held) {
    orders_.reports.push_back({lease, JobReport::Kind::alive});
  }
}

/// Moves all orders into `said_`; requests for jobs are added later.
void JobDesk::begin_saying() {
  said_ = std::exchange(orders_, terms_);
  exchanging_ = true;
}

JobDesk::News JobDesk::take(const store::JobReplies& replies) {
  exchanging_ = false;
  if (pause_.succeeded()) note_("the queue can be written again");
  News news{.leases = replies.leases, .called_off = {}};
  std::map<std::int64_t, std::size_t> given;
  for (const store::LeasedJob& job : replies.leases) ++given[job.what.evaluator];
  exhausted_.clear();
  for (const store::LeaseRequest& request : said_.requests) {
    if (given[request.evaluator] != request.count) exhausted_.insert(request.evaluator);
  }
  next_us_ = replies.next_us;
  for (const std::string& remark : replies.remarks) note_(remark);
  note_copies(replies);
  found_nothing_open_ = !next_us_ && said_.reports.empty() && said_.additions.empty() &&
                        said_.requests.size() == demands_;
  for (std::size_t i = 0; i < said_.reports.size(); ++i) {
    const JobReport& report = said_.reports[i];
    if (report.kind == JobReport::Kind::alive) {
      if (!replies.accepted[i]) news.called_off.push_back(report.lease);
      continue;
    }
    auto event = events_.extract(report.lease);
    if (event.empty()) continue;
    if (replies.accepted[i]) {
      accepted_.accept(std::move(event.mapped()));
    } else {
      note_(fmt::format("{}: its result is not wanted any more", printable(event.mapped().path)));
    }
  }
  return news;
}

/// Tells the user about added checkpoints that are copies: they are not evaluated again, because
/// jobs are about contents.
void JobDesk::note_copies(const store::JobReplies& replies) {
  std::size_t copies = 0;
  std::string first;
  for (std::size_t i = 0; i < said_.additions.size(); ++i) {
    if (replies.same_as[i].empty() || copies++ > 0) continue;
    first = fmt::format("{} has the content of {}", said_.additions[i].path, replies.same_as[i]);
  }
  if (copies == 0) return;
  note_(fmt::format("{}{}: judged once, not again", printable(first),
                    copies == 1   ? ""
                    : copies == 2 ? ", and 1 more is a copy"
                                  : fmt::format(", and {} more are copies", copies - 1)));
}

/// Keeps all reports for the next try, because results may have taken hours.
void JobDesk::failed(Time now, const std::string& why) {
  exchanging_ = false;
  std::erase_if(said_.reports,
                [](const JobReport& report) { return report.kind == JobReport::Kind::alive; });
  put_before(std::move(said_.reports), orders_.reports);
  put_before(std::move(said_.additions), orders_.additions);
  put_before(std::move(said_.sightings), orders_.sightings);
  said_ = terms_;
  look_ = true;
  next_heartbeat_ = now;  // no heartbeat arrived
  if (pause_.failed(now, why)) {
    note_(fmt::format("{}; results are kept until it works", why));
  }
}

// ---------------------------------------------------------------------------------------------
// Ends.

bool JobDesk::is_idle(bool rests) {
  if (!rests || has_orders() || exchanging_ || accepted_.size() > 0) {
    found_nothing_open_ = false;
    return false;
  }
  if (!found_nothing_open_ && !next_us_) look_ = true;  // asks the queue once more
  return found_nothing_open_;
}

std::optional<std::string> JobDesk::failure(Time now, milliseconds patience) const {
  if (now > pause_.end_of(patience)) return pause_.why();
  return accepted_.failure(now, patience);
}

}  // namespace flor::cli
