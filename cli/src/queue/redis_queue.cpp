// RedisQueue: connecting, and reading and changing evaluators and jobs.
#include "queue/redis_queue.h"

#include "queue/queue.lua.h"
#include "queue/redis_server.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace flor::cli {
namespace {

using store::Job;
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr const char* kEvaluators = "{flor}:evaluators";
/// Most jobs read in one call: other clients must wait during a call.
constexpr std::size_t kPage = 500;

std::optional<std::int64_t> time_of(const RedisReply& reply) {
  return reply.text.empty() ? std::nullopt : std::optional(reply.number());
}

Job read_job(std::int64_t id, const std::vector<RedisReply>& row) {
  return {.lease = {id, row.at(0).number()},
          .what = {.content = store::Digest::from_hex(row.at(1).text).value_or(store::Digest{}),
                   .evaluator = row.at(2).number(),
                   .arguments = row.at(3).text,
                   .path = row.at(4).text,
                   .priority = row.at(5).number()},
          .state = static_cast<store::JobState>(row.at(6).number()),
          .attempts = row.at(7).number(),
          .owner = row.at(8).text,
          .added_us = row.at(9).number(),
          .due_us = row.at(10).number(),
          .leased_us = time_of(row.at(11)),
          .lease_until_us = time_of(row.at(12)),
          .finished_us = time_of(row.at(13)),
          .message = row.at(14).text,
          .result = row.at(15).text};
}

std::string run_id(const std::string& info) {
  constexpr std::string_view kField = "run_id:";
  const std::size_t at = info.find(kField);
  if (at == info.npos) throw Error("the queue's server does not say who it is (INFO server)");
  const std::size_t begin = at + kField.size();
  return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

}  // namespace

std::int64_t queue_evaluator_id(std::string_view spec, std::string_view digest) {
  const std::string text = fmt::format("{}\n{}", digest, spec);
  const store::Digest name = store::digest_of(std::as_bytes(std::span(text)));
  std::int64_t id = 0;
  for (int i = 0; i < 6; ++i) id = id << 8 | name.bytes[static_cast<std::size_t>(i)];
  return id;
}

RedisQueue::RedisQueue(const store::Store& store, QueueAddress address, Clock clock)
    : address_(std::move(address)),
      clock_(std::move(clock)),
      ledger_(store, address_.name()),
      place_(ledger_.place()),
      server_(std::make_unique<Server>()),
      self_(store::new_run_key() + ".") {
  connect();
}

RedisQueue::~RedisQueue() = default;

std::int64_t RedisQueue::local_now() const {
  using std::chrono::system_clock, std::chrono::microseconds;
  if (clock_) return clock_();
  return std::chrono::duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

void RedisQueue::connect() const {
  server_->connection = std::make_unique<RedisConnection>(address_);
  try {
    server_->script = server_->connection->call({"SCRIPT", "LOAD", kQueueScript}).text;
    server_->run = run_id(server_->connection->call({"INFO", "server"}).text);
    attach();
  } catch (const RedisError& error) {
    server_->connection.reset();
    throw Error(fmt::format("the queue {} refuses: {}", name(), error.what()));
  } catch (...) {
    server_->connection.reset();
    throw;
  }
}

void RedisQueue::attach() const {
  server_->life.clear();
  const std::int64_t lease = lease_us_ > 0 ? lease_us_ : store::JobOrders{}.lease_us;
  server_->life = run_once("attach", {server_->run, std::to_string(lease)}).text;
}

RedisQueue::Words RedisQueue::request(const std::string& command, const Words& words) const {
  Words all{"EVALSHA",
            server_->script,
            "1",
            "{flor}:head",
            command,
            server_->life,
            clock_ ? std::to_string(clock_()) : ""};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

RedisReply RedisQueue::run_once(const std::string& command, const Words& words) const {
  try {
    return server_->connection->call(request(command, words));
  } catch (const RedisError& error) {
    if (error.code() != "NOSCRIPT") throw;
    server_->script = server_->connection->call({"SCRIPT", "LOAD", kQueueScript}).text;
    return server_->connection->call(request(command, words));
  }
}

RedisReply RedisQueue::run(const std::string& command, const Words& words) const {
  for (;;) {
    RedisReply reply = run_in_this_life(command, words);
    if (reply.text != kForgotten) return reply;
  }
}

/// Runs a command, and connects if there is no connection. If it fails on an old connection, which
/// the server or the network may have closed while it was idle, silently tries a new connection
/// once.
RedisReply RedisQueue::run_in_this_life(const std::string& command, const Words& words) const {
  const std::string life = server_->life;
  bool is_new = !server_->connection;
  for (;;) {
    try {
      if (!server_->connection) connect();
      RedisReply reply =
          life == server_->life ? run_once(command, words) : RedisReply{.text = kForgotten};
      if (reply.text == kForgotten && life == server_->life) attach();
      return reply;
    } catch (const store::QueueUnreachable&) {
      const bool is_slow = server_->connection && server_->connection->is_slow();
      server_->connection.reset();
      if (std::exchange(is_new, true) || is_slow) throw;
    } catch (const RedisError& error) {
      throw Error(fmt::format("the queue {} refuses: {}", name(), error.what()));
    }
  }
}

std::int64_t RedisQueue::add_evaluator(std::string_view spec, std::string_view digest) {
  const Lock lock(mutex_);
  const std::int64_t id = queue_evaluator_id(spec, digest);
  evaluators_[id] = {id, std::string(spec), std::string(digest)};
  run("evaluator", {std::to_string(id), fmt::format("{}\n{}", digest, spec)});
  return id;
}

std::vector<store::Evaluator> RedisQueue::evaluators() const {
  const Lock lock(mutex_);
  const RedisReply reply = run("evaluators", {});
  std::vector<store::Evaluator> all;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    const std::string& text = reply.items[i + 1].text;
    const std::size_t end = std::min(text.find('\n'), text.size());
    all.push_back({.id = reply.items[i].number(),
                   .spec = text.substr(std::min(end + 1, text.size())),
                   .digest = text.substr(0, end)});
  }
  std::ranges::sort(all, {}, &store::Evaluator::id);
  return all;
}

store::Evaluator RedisQueue::evaluator(std::int64_t id) const {
  if (!evaluators_.contains(id)) {
    for (const store::Evaluator& one : evaluators()) evaluators_[one.id] = one;
  }
  const auto found = evaluators_.find(id);
  if (found == evaluators_.end()) {
    throw Error(
        fmt::format("the queue {} has a job of an evaluator that it does not know", name()));
  }
  return found->second;
}

std::vector<Job> RedisQueue::jobs(const store::JobFilter& filter) const {
  const Lock lock(mutex_);
  std::vector<std::int64_t> ids(filter.ids.begin(), filter.ids.end());
  if (ids.empty()) {
    for (const RedisReply& id : run("ids", {}).items) ids.push_back(id.number());
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<Job> found;
  for (std::size_t begin = 0; begin < ids.size(); begin += kPage) {
    const auto page = std::span(ids).subspan(begin, std::min(kPage, ids.size() - begin));
    Words words{std::to_string(page.size())};
    for (const std::int64_t id : page) words.push_back(std::to_string(id));
    const RedisReply rows = run("rows", words);
    for (std::size_t i = 0; i < page.size(); ++i) {
      const auto& row = rows.items.at(i).items;
      if (row.at(0).is_null) continue;
      Job job = read_job(page[i], row);
      if (filter.accepts(job)) found.push_back(std::move(job));
    }
  }
  return found;
}

std::int64_t RedisQueue::change(const char* action, const store::JobFilter& filter) {
  const Lock lock(mutex_);
  Words words{action, filter.state ? std::to_string(static_cast<int>(*filter.state)) : "",
              filter.evaluator ? std::to_string(*filter.evaluator) : "",
              std::to_string(filter.ids.size())};
  for (const std::int64_t id : filter.ids) words.push_back(std::to_string(id));
  return run("change", words).number();
}

int RedisQueue::bell() {
  const Lock lock(mutex_);
  if (!std::exchange(rings_, true)) bell_.listen(address_);
  return bell_.descriptor();
}

}  // namespace flor::cli
