#include "watch/job_facts.h"

#include "watch/evaluators/worker_group.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace flor::cli {
namespace {

using store::Job;

/// Whether the lease is of a queue on a server. Tokens of a server are large and never reused,
/// those of the home's queue are small; the two queues number their jobs independently.
bool is_of_server(const store::Lease& lease) { return lease.token > 1'000'000'000'000; }

/// The attempts at a job that wrote a log on this machine, in order.
std::vector<store::Lease> logged(const store::Store& store, const Job& job) {
  std::vector<store::Lease> found;
  const auto directory = job_log(store, job.lease).parent_path();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    store::Lease lease;
    char end[5] = "";
    if (std::sscanf(name.c_str(), "%ld.%ld.%4s", &lease.job, &lease.token, end) != 3) continue;
    const bool is_same = lease.token == job.lease.token && is_of_server(lease);
    const bool is_earlier = lease.job == job.lease.job && lease.token <= job.lease.token &&
                            is_of_server(lease) == is_of_server(job.lease);
    if (is_same || is_earlier) found.push_back(lease);
  }
  std::ranges::sort(found, {}, &store::Lease::token);
  return found;
}

}  // namespace

Json job_json(const Job& job, std::string_view spec) {
  return {{"id", job.lease.job},
          {"state", to_string(job.state)},
          {"path", json_text(job.what.path)},
          {"content", job.what.content.hex()},
          {"evaluator", json_text(spec)},
          {"attempts", job.attempts},
          {"added", json_time(job.added_us)},
          {"finished", json_time(job.finished_us)},
          {"message", json_text(job.message)},
          {"result", job.result.empty() ? Json() : Json::parse(job.result, nullptr, false)}};
}

std::vector<AttemptLog> attempt_logs(const store::Store& store, const Job& job,
                                     std::uint64_t limit) {
  std::vector<AttemptLog> logs;
  for (const store::Lease& lease : logged(store, job)) {
    const std::filesystem::path file = job_log(store, lease);
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    std::ifstream in(file, std::ios::binary);
    if (error || !in) continue;
    if (size > limit) in.seekg(static_cast<std::streamoff>(size - limit));
    logs.push_back({lease, std::string(std::istreambuf_iterator<char>(in), {})});
  }
  return logs;
}

}  // namespace flor::cli
