// RedisQueue::remind: after a restart of the server, sends it the jobs in this machine's ledger.
#include "queue/redis_queue.h"
#include "queue/redis_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

namespace flor::cli {
namespace {

/// Most jobs sent in one call: other clients must wait during a call.
constexpr std::size_t kEntriesAtOnce = 200;

}  // namespace

struct RedisQueue::Offer {
  bool has_forgotten = false;
  store::JobLedger::Changes changes = {};
  std::size_t added = 0, results = 0;
};

void RedisQueue::remind() {
  for (;;) {
    const std::string life = server_->life;
    if (reminded_ == life) return;
    const std::string seen = ledger_.life();
    Offer offer{.has_forgotten = !seen.empty() && seen != life};
    const std::vector<Entry> entries = to_be_told(offer.has_forgotten);
    bool is_told = true;
    for (std::size_t begin = 0; is_told && begin < entries.size(); begin += kEntriesAtOnce) {
      const std::size_t count = std::min(kEntriesAtOnce, entries.size() - begin);
      is_told = tell(std::span(entries).subspan(begin, count), offer);
    }
    if (!is_told) continue;
    offer.changes.life = life;
    ledger_.write(offer.changes);
    reminded_ = life;
    if (offer.added + offer.results == 0) return;
    remarks_.push_back(fmt::format(
        "the queue {} has lost what came last: {} evaluation{} added again, {} result{} told again",
        name(), offer.added, offer.added == 1 ? "" : "s", offer.results,
        offer.results == 1 ? "" : "s"));
    return;
  }
}

/// The ledger's entries to send. A queue that remembers is only asked what became of this machine's
/// open jobs. A queue that may have lost entries gets all, and also jobs that other machines added
/// and this one is evaluating.
std::vector<RedisQueue::Entry> RedisQueue::to_be_told(bool has_forgotten) {
  std::vector<Entry> entries = ledger_.entries();
  if (!has_forgotten) {
    std::erase_if(entries, [](const Entry& entry) { return entry.result.has_value(); });
  }
  std::set<std::int64_t> leased;
  for (Entry& entry : entries) {
    entry.what.evaluator = queue_evaluator_id(entry.spec, entry.digest);
    evaluators_[entry.what.evaluator] = {entry.what.evaluator, entry.spec, entry.digest};
    if (const auto* lease = lease_of(entry)) leased.insert(lease->lease.token);
  }
  for (const auto& [token, lease] : held_) {
    if (!leased.contains(token)) entries.push_back(entry(lease.lease.job, lease.what));
  }
  return entries;
}

store::LeasedJob* RedisQueue::lease_of(const Entry& entry) {
  const auto found = std::ranges::find_if(held_, [&](const auto& item) {
    const store::NewJob& what = item.second.what;
    return what.content == entry.what.content && what.evaluator == entry.what.evaluator &&
           what.arguments == entry.what.arguments;
  });
  return found == held_.end() ? nullptr : &found->second;
}

/// Sends entries to the queue. Returns false if the server has lost the queue and begun an empty
/// one in the meantime.
bool RedisQueue::tell(std::span<const Entry> entries, Offer& offer) {
  Words words{owner_, offer.has_forgotten ? "1" : "0", std::to_string(lease_us_),
              std::to_string(evaluators_.size())};
  for (const auto& [id, one] : evaluators_) {
    words.insert(words.end(), {std::to_string(id), fmt::format("{}\n{}", one.digest, one.spec)});
  }
  words.push_back(std::to_string(entries.size()));
  for (const Entry& entry : entries) {
    add_what(entry.what, words);
    const auto* lease = lease_of(entry);
    words.insert(words.end(), {std::to_string(entry.job), entry.result ? entry.result->json : "",
                               std::to_string(entry.result ? entry.result->token : 0),
                               lease ? std::to_string(lease->lease.token) : ""});
  }
  const RedisReply reply = run_in_this_life("offer", words);
  if (reply.text == kForgotten) return false;
  for (std::size_t i = 0; i < entries.size(); ++i) hear(entries[i], reply.items.at(i), offer);
  return true;
}

void RedisQueue::hear(const Entry& entry, const RedisReply& reply, Offer& offer) {
  const auto& item = reply.items;
  if (item.at(0).text.empty()) {
    offer.changes.forgotten.push_back(entry);
    return;
  }
  Entry now = entry;
  now.job = item.at(0).number();
  if (!item.at(4).text.empty()) {
    now.result = {.token = item.at(2).number(),
                  .attempts = item.at(3).number(),
                  .finished_us = local_now(),
                  .json = item.at(4).text};
  }
  if (now.job != entry.job || !item.at(4).text.empty()) offer.changes.known.push_back(now);
  if (auto* lease = lease_of(entry)) lease->lease.job = now.job;
  offer.added += item.at(5).number() != 0 ? 1 : 0;
  offer.results += item.at(6).number() != 0 ? 1 : 0;
}

}  // namespace flor::cli
