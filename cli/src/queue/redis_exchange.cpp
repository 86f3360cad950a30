// RedisQueue::exchange: reports, additions and leases, exchanged with the script on the server.
#include "queue/job_choice.h"
#include "queue/redis_queue.h"
#include "queue/redis_server.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace flor::cli {
namespace {

using store::JobOrder;
using store::JobReport;
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr std::array<const char*, 5> kKinds{"alive", "done", "failed", "back", "gone"};
/// Indices of the parts of the script's answer.
enum Part : std::size_t { kAccepted, kAdded, kLeases, kNext, kNow, kStrangers, kHolders, kPlaces };
/// How often to choose again if another process has taken the chosen jobs.
constexpr int kSteps = 4;
/// Most jobs added in one call: other clients must wait during a call, and the server keeps its
/// answer.
constexpr std::size_t kMostAdditions = 2000;

void add_list(const std::vector<std::string>& list, std::vector<std::string>& words) {
  words.push_back(std::to_string(list.size()));
  words.insert(words.end(), list.begin(), list.end());
}

/// The pause before the retry after 1, 2, ... failures; the last one applies to all greater
/// numbers.
std::vector<std::string> pauses(const store::RetryPolicy& policy, const store::Lease& lease) {
  std::vector<std::string> all;
  std::int64_t pause = policy.first_us;
  for (std::int64_t failed = 1;; ++failed, pause *= 2) {
    all.push_back(std::to_string(backoff_us(policy, lease, failed)));
    if (pause >= policy.longest_us || pause <= 0 || failed >= policy.attempts) return all;
  }
}

std::vector<std::int64_t> choose(const RedisReply& reply, std::size_t count) {
  std::vector<store::JobPlace> places;
  for (std::size_t i = 0; i + 2 < reply.items.size(); i += 3) {
    places.push_back({.id = reply.items[i].number(),
                      .priority = reply.items[i + 1].number(),
                      .open = reply.items[i + 2].text == "1"});
  }
  return store::bisect(places, count);
}

}  // namespace

/// One call of the script. Its requests change from call to call: for the order `bisect` the script
/// first returns the waiting jobs, then it gets the chosen ones.
struct RedisQueue::Step {
  struct Request {
    std::int64_t evaluator = 0;
    std::size_t count = 0;
    std::string order;  ///< fifo, newest, bisect, or "these"
    std::vector<std::int64_t> these = {};
  };
  bool is_first = true;
  std::vector<Request> requests;

  explicit Step(const store::JobOrders& orders) {
    constexpr std::array<const char*, 3> kOrders{"fifo", "newest", "bisect"};
    for (const store::LeaseRequest& wanted : orders.requests) {
      requests.push_back({.evaluator = wanted.evaluator,
                          .count = wanted.count,
                          .order = kOrders.at(static_cast<std::size_t>(wanted.order))});
    }
  }
  /// Prepares the requests that the answer left open. Returns false if there are none.
  bool go_on(const store::JobOrders& orders, const RedisReply& reply) {
    is_first = false;
    if (!reply.items.at(kStrangers).items.empty()) return true;
    std::map<std::int64_t, std::size_t> given;
    for (const RedisReply& lease : reply.items.at(kLeases).items) {
      ++given[lease.items.at(4).number()];
    }
    bool more = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      if (request.order == "bisect" && request.count > 0) {
        request.these = choose(reply.items.at(kPlaces).items.at(i), request.count);
        request.order = "these";
        more = more || !request.these.empty();
      } else if (request.order == "these") {
        request.count -= std::min(request.count, given[request.evaluator]);
        const bool lost_some = given[request.evaluator] < request.these.size();
        request.order = lost_some ? "bisect" : "these";
        request.these.clear();
        more = more || (lost_some && request.count > 0);
      } else {
        request.count = 0;
      }
    }
    return more && !orders.requests.empty();
  }
};

store::JobReplies RedisQueue::exchange(const store::JobOrders& orders) {
  const Lock lock(mutex_);
  owner_ = orders.owner.empty() ? "" : place_ + "/" + orders.owner;
  lease_us_ = orders.lease_us;
  bell_.set_owner(owner_);
  ask_again();
  store::JobReplies replies;
  store::JobOrders rest = add_most(orders, replies);
  std::erase_if(rest.reports,
                [&](const JobReport& report) { return untold_.heard.contains(report.lease); });
  Step step(rest);
  RedisReply reply = say_and_take(rest, words_of(rest, step), replies);
  const std::vector<bool> accepted = std::exchange(replies.accepted, {});
  reply = lease_more(rest, step, std::move(reply));
  const Untold told = std::exchange(untold_, {});
  std::size_t at = 0;
  for (const JobReport& report : orders.reports) {
    const bool is_rest = at < rest.reports.size() && rest.reports[at].lease == report.lease;
    replies.accepted.push_back(is_rest ? accepted.at(at++) : told.heard.at(report.lease));
  }
  replies.leases = told.leases;
  if (const std::string& next = reply.items.at(kNext).text; !next.empty()) {
    replies.next_us =
        reply.items.at(kNext).number() + (local_now() - reply.items.at(kNow).number());
  }
  replies.remarks = std::exchange(remarks_, {});
  return replies;
}

/// Sends the last exchange again if its answer did not arrive or could not be written to the home.
/// The script recognizes it: it repeats its answer, or does what it had not done.
void RedisQueue::ask_again() {
  if (!unanswered_) return;
  const auto before = *unanswered_;
  store::JobReplies replies;
  say_and_take(before.orders, before.words, replies);
}

/// Sends the additions in calls of at most kMostAdditions, except for the last ones. Returns the
/// orders that are left.
store::JobOrders RedisQueue::add_most(const store::JobOrders& orders, store::JobReplies& replies) {
  store::JobOrders rest = orders;
  auto begin = rest.additions.begin();
  for (; rest.additions.end() - begin > std::ptrdiff_t{kMostAdditions}; begin += kMostAdditions) {
    const store::JobOrders some{.owner = orders.owner,
                                .lease_us = orders.lease_us,
                                .retries = orders.retries,
                                .additions = {begin, begin + kMostAdditions}};
    say_and_take(some, words_of(some, Step(some)), replies);
  }
  rest.additions.erase(rest.additions.begin(), begin);
  return rest;
}

/// Sends the orders and processes the answer. If the answer cannot be written to the home, the next
/// exchange asks for it again, with its leases.
RedisReply RedisQueue::say_and_take(const store::JobOrders& orders, const Words& words,
                                    store::JobReplies& replies) {
  RedisReply reply = say(orders, words);
  try {
    take(orders, reply, replies);
  } catch (...) {
    unanswered_ = {orders, words};
    throw;
  }
  return reply;
}

/// Processes the script's answers to reports and additions, and the leases. Keeps accepted results
/// and leases in `untold_` until `exchange` returns, because a later step may fail.
void RedisQueue::take(const store::JobOrders& orders, const RedisReply& reply,
                      store::JobReplies& replies) {
  replies.accepted.clear();
  for (const RedisReply& item : reply.items.at(kAccepted).items) {
    replies.accepted.push_back(item.number() != 0);
  }
  for (const RedisReply& item : reply.items.at(kAdded).items) {
    replies.added.push_back(item.items.at(0).number() != 0);
    replies.same_as.push_back(replies.added.back() ? std::string() : item.items.at(2).text);
  }
  keep(orders, reply, replies);
  forget_leases(orders, replies.accepted);
  for (std::size_t i = 0; i < orders.reports.size(); ++i) {
    const JobReport& report = orders.reports[i];
    if (report.kind != JobReport::Kind::alive) untold_.heard[report.lease] = replies.accepted[i];
  }
  take_leases(reply);
}

RedisReply RedisQueue::lease_more(const store::JobOrders& orders, Step& step, RedisReply reply) {
  try {
    for (int i = 0; i < kSteps && step.go_on(orders, reply); ++i) {
      reply = say(orders, words_of(orders, step));
      take_leases(reply);
    }
    // In the order of the requests, although some were answered by a later call.
    std::ranges::stable_sort(untold_.leases, {}, [&](const store::LeasedJob& job) {
      return std::ranges::find(orders.requests, job.what.evaluator,
                               &store::LeaseRequest::evaluator) -
             orders.requests.begin();
    });
  } catch (const store::QueueUnreachable&) {
    // The reports and additions have arrived, so the next exchange asks only for these leases.
    unanswered_->orders.reports.clear();
    unanswered_->orders.additions.clear();
    unanswered_->orders.sightings.clear();
    reply.items.at(kNext).text = reply.items.at(kNow).text;
  }
  return reply;
}

RedisQueue::Words RedisQueue::words_of(const store::JobOrders& orders, const Step& step) {
  Words words{owner_, self_ + std::to_string(++exchanges_), std::to_string(orders.lease_us),
              std::to_string(orders.retries.attempts)};
  add_holders(words);
  if (step.is_first) {
    add_reports(orders, words);
    words.push_back(std::to_string(orders.additions.size()));
    for (const store::NewJob& what : orders.additions) add_what(what, words);
  } else {
    words.insert(words.end(), {"0", "0"});
  }
  words.push_back(std::to_string(step.requests.size()));
  for (const Step::Request& request : step.requests) {
    words.insert(words.end(), {std::to_string(request.evaluator), std::to_string(request.count),
                               request.order, std::to_string(request.these.size())});
    for (const std::int64_t id : request.these) words.push_back(std::to_string(id));
  }
  return words;
}

RedisReply RedisQueue::say(const store::JobOrders& orders, const Words& words) {
  try {
    for (;;) {
      if (rings_) bell_.listen(address_);
      remind();
      RedisReply reply = run_in_this_life("exchange", words);
      if (reply.text == kForgotten) continue;
      unanswered_.reset();
      holders_.clear();
      for (const RedisReply& holder : reply.items.at(kHolders).items) holders_.insert(holder.text);
      return reply;
    }
  } catch (const store::QueueUnreachable&) {
    unanswered_ = {orders, words};
    throw;
  }
}

/// Adds the other holders of leases to the call, as alive or dead. For holders on other machines
/// only the end of the lease shows that they are dead.
void RedisQueue::add_holders(Words& words) const {
  std::vector<std::string> alive, dead;
  const std::string here = place_ + "/";
  for (const std::string& holder : holders_) {
    if (holder == owner_) continue;
    const bool lives = !holder.starts_with(here) || ledger_.is_held(holder.substr(here.size()));
    (lives ? alive : dead).push_back(holder);
  }
  add_list(alive, words);
  add_list(dead, words);
}

void RedisQueue::add_reports(const store::JobOrders& orders, Words& words) const {
  words.push_back(std::to_string(orders.reports.size()));
  for (const JobReport& report : orders.reports) {
    const auto known = held_.find(report.lease.token);
    const std::int64_t job = known == held_.end() ? report.lease.job : known->second.lease.job;
    words.insert(words.end(), {std::to_string(job), std::to_string(report.lease.token),
                               kKinds.at(static_cast<std::size_t>(report.kind)), report.text});
    const bool failed = report.kind == JobReport::Kind::failed;
    add_list(failed ? pauses(orders.retries, report.lease) : Words{}, words);
  }
}

void RedisQueue::add_what(const store::NewJob& what, Words& words) const {
  words.insert(words.end(), {what.content.hex(), std::to_string(what.evaluator), what.arguments,
                             what.path, std::to_string(what.priority)});
}

void RedisQueue::take_leases(const RedisReply& reply) {
  for (const RedisReply& row : reply.items.at(kLeases).items) {
    const auto& item = row.items;
    const auto content = store::Digest::from_hex(item.at(3).text);
    untold_.leases.push_back({.lease = {item.at(0).number(), item.at(1).number()},
                              .what = {.content = content.value_or(store::Digest{}),
                                       .evaluator = item.at(4).number(),
                                       .arguments = item.at(5).text,
                                       .path = item.at(6).text,
                                       .priority = item.at(7).number()},
                              .attempt = item.at(2).number() + 1});
    held_[untold_.leases.back().lease.token] = untold_.leases.back();
  }
}

/// Writes this machine's additions and results to the ledger in its home.
void RedisQueue::keep(const store::JobOrders& orders, const RedisReply& reply,
                      const store::JobReplies& replies) {
  store::JobLedger::Changes changes{.sightings = orders.sightings};
  for (std::size_t i = 0; i < orders.additions.size(); ++i) {
    const std::int64_t id = reply.items.at(kAdded).items.at(i).items.at(1).number();
    changes.known.push_back(entry(id, orders.additions[i]));
  }
  for (std::size_t i = 0; i < orders.reports.size(); ++i) {
    const JobReport& report = orders.reports[i];
    const bool is_gone = report.kind == JobReport::Kind::gone;
    if ((!is_gone && report.kind != JobReport::Kind::done) || !replies.accepted.at(i)) continue;
    const store::LeasedJob leased = held(report.lease);
    Entry one = entry(leased.lease.job, leased.what);
    if (is_gone) {
      changes.forgotten.push_back(std::move(one));
      continue;
    }
    one.result = {.token = report.lease.token,
                  .attempts = leased.attempt - 1,
                  .finished_us = reply.items.at(kNow).number(),
                  .json = report.text};
    changes.known.push_back(std::move(one));
  }
  const bool is_nothing =
      changes.known.empty() && changes.forgotten.empty() && changes.sightings.empty();
  if (!is_nothing) ledger_.write(changes);
}

void RedisQueue::forget_leases(const store::JobOrders& orders, const std::vector<bool>& accepted) {
  for (std::size_t i = 0; i < orders.reports.size(); ++i) {
    const bool goes_on = orders.reports[i].kind == JobReport::Kind::alive && accepted.at(i);
    if (!goes_on) held_.erase(orders.reports[i].lease.token);
  }
}

store::LeasedJob RedisQueue::held(const store::Lease& lease) const {
  if (const auto found = held_.find(lease.token); found != held_.end()) return found->second;
  const std::vector<store::Job> found = jobs({.ids = {lease.job}});
  if (found.empty()) throw Error(fmt::format("the queue {} has no job {}", name(), lease.job));
  return {.lease = lease, .what = found[0].what, .attempt = found[0].attempts + 1};
}

RedisQueue::Entry RedisQueue::entry(std::int64_t job, const store::NewJob& what) const {
  const store::Evaluator known = evaluator(what.evaluator);
  return {.job = job, .what = what, .spec = known.spec, .digest = known.digest};
}

}  // namespace flor::cli
