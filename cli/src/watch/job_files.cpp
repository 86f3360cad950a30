#include "watch/job_files.h"

#include "output/terminal_text.h"
#include "watch/checkpoint_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::cli {

bool JobFiles::concerns(const store::LeasedJob& job) { return is_reference(job.what.path); }

void JobFiles::prepare(const store::LeasedJob& job) {
  readers_.insert(job.what.evaluator);
  preparing_.emplace(job.lease, job);
  maker_->make(job.lease, job.what);
}

std::vector<JobFiles::Prepared> JobFiles::take(Time now) {
  std::vector<Prepared> all;
  for (const FileMaker::Made& made : maker_->take()) {
    if (auto prepared = take(made, now)) all.push_back(std::move(*prepared));
  }
  return all;
}

std::optional<JobFiles::Prepared> JobFiles::take(const FileMaker::Made& made, Time now) {
  using End = FileMaker::Made::End;
  auto node = preparing_.extract(made.lease);
  if (node.empty() || made.end != End::made) maker_->drop(made.lease);
  if (node.empty()) return std::nullopt;
  Prepared prepared{.end = made.end, .job = std::move(node.mapped()), .failure = made.failure};
  switch (made.end) {
    case End::made:
      pause_.succeeded();
      references_[made.lease] = std::exchange(prepared.job.what.path, made.path.string());
      break;
    case End::gone:
      note_(printable(made.failure));
      break;
    case End::later:
      note_failure(made.failure, now);
      break;
    case End::damaged:
      break;
  }
  return prepared;
}

void JobFiles::note_failure(const std::string& why, Time now) {
  if (next_) return;  // this file was begun before the rest began
  if (pause_.failed(now, printable(why))) {
    note_(fmt::format("{}; checkpoints wait until it works", pause_.why()));
  }
  next_ = pause_.next();
}

std::string JobFiles::end(const store::LeasedJob& job) {
  const auto node = references_.extract(job.lease);
  if (node.empty()) return job.what.path;
  maker_->drop(job.lease);
  return node.mapped();
}

void JobFiles::call_off(const store::Lease& lease) {
  preparing_.erase(lease);
  if (references_.erase(lease) > 0) maker_->drop(lease);
}

std::vector<store::Lease> JobFiles::leases() const {
  std::vector<store::Lease> all;
  for (const auto& [lease, job] : preparing_) all.push_back(lease);
  return all;
}

std::size_t JobFiles::coming(std::int64_t evaluator) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      preparing_, [&](const auto& entry) { return entry.second.what.evaluator == evaluator; }));
}

bool JobFiles::end_rest(Time now) {
  if (!next_ || now < *next_) return false;
  next_.reset();
  return true;
}

}  // namespace flor::cli
