#include "doctor/rank_facts.h"

#include "base/library_versions.h"
#include "git/library_version.h"
#include "machine/nvml.h"
#include "output/time.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

namespace flor::cli {
namespace {

/// Later events of other ranks must not seem earlier by more than people take for the same moment.
constexpr double kClockSeconds = 1;

/// "ranks 1, 3 and 4"; "rank 1"
std::string named(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kNamed = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const auto first = std::span(ranks).first(std::min(ranks.size(), kNamed));
  if (ranks.size() > kNamed) {
    return fmt::format("ranks {} and {} more", fmt::join(first, ", "), ranks.size() - kNamed);
  }
  return fmt::format("ranks {} and {}", fmt::join(first.first(first.size() - 1), ", "),
                     ranks.back());
}

/// Says that all ranks have the same, or which ones have something else than rank 0.
void compare(std::span<const RankFacts> ranks, std::string topic, std::string RankFacts::*fact,
             Health health, std::string advice, Findings& findings) {
  std::map<std::string, std::vector<std::int64_t>> others;
  const std::string& first = ranks.front().*fact;
  for (const RankFacts& rank : ranks) {
    if (rank.*fact != first) others[rank.*fact].push_back(rank.rank);
  }
  const auto text = [](const std::string& value) { return value.empty() ? "none" : value; };
  if (others.empty()) {
    findings.push_back({std::move(topic), Health::ok, text(first)});
    return;
  }
  std::string what = fmt::format("rank 0 has {}", text(first));
  for (const auto& [value, which] : others) {
    what +=
        fmt::format("; {} {} {}", named(which), which.size() == 1 ? "has" : "have", text(value));
  }
  findings.push_back({std::move(topic), health, std::move(what), std::move(advice)});
}

void examine_clocks(std::span<const RankFacts> ranks, Findings& findings) {
  const auto& worst = *std::ranges::max_element(
      ranks, {}, [](const RankFacts& rank) { return std::abs(rank.clock_seconds); });
  const double off = std::abs(worst.clock_seconds);
  if (off <= kClockSeconds) {
    findings.push_back(
        {"clocks", Health::ok, fmt::format("within {}", duration(std::max(off, 0.001)))});
    return;
  }
  findings.push_back(
      {"clocks", Health::warning,
       fmt::format("that of rank {} ({}) is {} {} that of rank 0", worst.rank, worst.host,
                   duration(off), worst.clock_seconds < 0 ? "behind" : "ahead of"),
       "let the machines synchronize their clocks (chronyc tracking)"});
}

void examine_locks(std::span<const RankFacts> ranks, Findings& findings) {
  std::vector<std::int64_t> without;
  for (const RankFacts& rank : ranks) {
    if (!rank.respects_lock) without.push_back(rank.rank);
  }
  if (without.empty()) {
    findings.push_back({"locks", Health::ok, "what rank 0 locks is locked for all"});
    return;
  }
  findings.push_back({"locks", Health::failure,
                      fmt::format("{} could lock what rank 0 had locked", named(without)),
                      "mount the home with locks that all machines see (for NFS without nolock or "
                      "local_lock), or move it"});
}

void examine_gpus(std::span<const RankFacts> ranks, Findings& findings) {
  std::vector<std::int64_t> without;
  std::map<std::string, std::vector<std::int64_t>> users;
  for (const RankFacts& rank : ranks) {
    rank.gpu.empty() ? without.push_back(rank.rank) : users[rank.gpu].push_back(rank.rank);
  }
  if (users.empty()) {
    findings.push_back({"GPUs", Health::ok, "none is visible to any rank"});
    return;
  }
  if (!without.empty()) {
    findings.push_back(
        {"GPUs", Health::failure,
         fmt::format("{} {} none", named(without), without.size() == 1 ? "sees" : "see"),
         "look at CUDA_VISIBLE_DEVICES and nvidia-smi there"});
  }
  bool are_distinct = true;
  for (const auto& [gpu, which] : users) {
    if (which.size() == 1) continue;
    are_distinct = false;
    findings.push_back({"GPUs", Health::failure,
                        fmt::format("{} would use the same one, {}", named(which), gpu),
                        "give each rank its own by LOCAL_RANK or CUDA_VISIBLE_DEVICES"});
  }
  if (without.empty() && are_distinct) {
    findings.push_back(
        {"GPUs", Health::ok, fmt::format("each rank has its own, {} in all", users.size())});
  }
}

void examine_writing(std::span<const RankFacts> ranks, Findings& findings) {
  double sum = 0;
  const RankFacts* slowest = &ranks.front();
  for (const RankFacts& rank : ranks) {
    sum += rank.written_bytes;
    if (rank.written_bytes < slowest->written_bytes) slowest = &rank;
  }
  findings.push_back({"writing", Health::ok,
                      fmt::format("{}/s by all together, the slowest rank {} {}/s",
                                  bytes(static_cast<std::uint64_t>(sum)), slowest->rank,
                                  bytes(static_cast<std::uint64_t>(slowest->written_bytes)))});
}

/// "libtorch 1.13.1 in /usr/lib/x86_64-linux-gnu"
std::string torch_here() {
  Findings findings;
  examine_machine(findings);
  const auto found = std::ranges::find(findings, "libtorch", &Finding::topic);
  return found == findings.end() ? std::string() : found->what;
}

}  // namespace

RankFacts facts_of_this_rank(std::int64_t rank) {
  RankFacts facts;
  facts.rank = rank;
  facts.flor = FLOR_VERSION;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  facts.host = host.data();
  facts.libraries = fmt::format("libgit2 {}", git::library_version());
  for (const auto& [name, version] : store::library_versions()) {
    facts.libraries += fmt::format(", {} {}", name, version);
  }
  facts.torch = torch_here();
  facts.blas = blas_here();
  const RepositoryHere repository = repository_here();
  facts.repository = repository.work_tree;
  facts.commit = repository.commit;
  if (const auto gpus = detail::Nvml::open(); gpus && !gpus->gpus().empty()) {
    const char* const local = std::getenv("LOCAL_RANK");
    const std::size_t wanted = local ? std::strtoul(local, nullptr, 10) : 0;
    const auto& seen = gpus->gpus();
    if (seen.size() == 1 || wanted < seen.size()) {
      const auto& own = seen[seen.size() == 1 ? 0 : wanted];
      facts.gpu = own.uuid;
      facts.gpu_name = own.name;
    }
  }
  return facts;
}

void examine_ranks(std::span<const RankFacts> ranks, std::span<const std::int64_t> missing,
                   Findings& findings) {
  if (!missing.empty()) {
    findings.push_back(
        {"ranks", Health::failure,
         fmt::format("{} did not come to this home",
                     named(std::vector<std::int64_t>(missing.begin(), missing.end()))),
         "look whether it was started, and which FLOR_HOME it has: flor config there"});
  } else {
    findings.push_back({"ranks", Health::ok, fmt::format("all {} are here", ranks.size())});
  }
  compare(ranks, "flor", &RankFacts::flor, Health::failure, "install the same version everywhere",
          findings);
  compare(ranks, "libraries", &RankFacts::libraries, Health::warning,
          "install the same versions everywhere", findings);
  compare(ranks, "libtorch", &RankFacts::torch, Health::warning,
          "results depend on it: install the same version everywhere", findings);
  compare(ranks, "BLAS", &RankFacts::blas, Health::warning,
          "results depend on it: install the same one everywhere", findings);
  compare(ranks, "repository", &RankFacts::repository, Health::failure,
          "start every rank in the same directory", findings);
  compare(ranks, "commit", &RankFacts::commit, Health::failure,
          "check out the same commit everywhere", findings);
  examine_clocks(ranks, findings);
  examine_locks(ranks, findings);
  examine_gpus(ranks, findings);
  examine_writing(ranks, findings);
}

Json rank_json(const RankFacts& facts) {
  return {{"rank", facts.rank},
          {"host", facts.host},
          {"flor", facts.flor},
          {"libraries", facts.libraries},
          {"libtorch", json_text(facts.torch)},
          {"blas", json_text(facts.blas)},
          {"repository", json_text(facts.repository)},
          {"commit", json_text(facts.commit)},
          {"gpu", json_text(facts.gpu)},
          {"gpu_name", json_text(facts.gpu_name)},
          {"clock_seconds", facts.clock_seconds},
          {"respects_lock", facts.respects_lock},
          {"written_bytes_a_second", facts.written_bytes}};
}

RankFacts rank_of_json(const Json& json) {
  const auto text = [&](const char* name) {
    return json.at(name).is_null() ? std::string() : json.at(name).get<std::string>();
  };
  try {
    return {.rank = json.at("rank").get<std::int64_t>(),
            .host = text("host"),
            .flor = text("flor"),
            .libraries = text("libraries"),
            .torch = text("libtorch"),
            .blas = text("blas"),
            .repository = text("repository"),
            .commit = text("commit"),
            .gpu = text("gpu"),
            .gpu_name = text("gpu_name"),
            .clock_seconds = json.at("clock_seconds").get<double>(),
            .respects_lock = json.at("respects_lock").get<bool>(),
            .written_bytes = json.at("written_bytes_a_second").get<double>()};
  } catch (const Json::exception&) {
    throw Error("the answer of a rank lacks a field, or has one of the wrong type");
  }
}

}  // namespace flor::cli
