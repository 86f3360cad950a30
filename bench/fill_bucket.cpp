// Fills a bucket for measuring listings: fill_bucket DIRECTORY RUNS uploads the manifests of RUNS
// runs, one after the other as spoolers do, and their listing, but none of the content that the
// manifests refer to.
#include "remote/objects/object_keys.h"
#include "remote/objects/object_store.h"
#include "remote/run_listing.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

namespace flor::remote {
namespace {

using Clock = std::chrono::steady_clock;

RemoteRun make_run(std::int64_t number, std::mt19937_64& random) {
  RemoteRun run;
  run.key = fmt::format("{:016x}", random());
  run.experiment = fmt::format("sweep-{}", number % 20);
  run.state = number % 10 == 0 ? "interrupted" : "finished";
  run.started_us = 1'700'000'000'000'000 + number * 60'000'000;
  run.spooled_us = run.started_us + 50'000'000;
  run.epochs = 100;
  run.checkpoints = 101;
  run.raw_bytes = random() >> 30;
  run.stored_bytes = run.raw_bytes / 3;
  run.sequence = 1;
  for (int i = 0; i < 4; ++i) run.catalog += fmt::format("{:016x}", random());
  run.catalog_bytes = random() >> 48;
  return run;
}

void fill(const std::string& directory, std::int64_t runs) {
  const auto objects = open_directory(directory);
  std::mt19937_64 random(1);
  double listing = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const RemoteRun run = make_run(i, random);
    const auto name = put_manifest(*objects, run, std::nullopt);
    const auto begin = Clock::now();
    enter_in_listing(*objects, {*name, run});
    listing += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  std::uint64_t bytes = 0;
  const auto parts = list_parts(*objects);
  for (const ListingPart& part : parts) bytes += part.bytes;
  std::printf("%lld runs, the listing in %zu parts of %.1f bytes a run, entered in %.2f ms a run\n",
              static_cast<long long>(runs), parts.size(),
              static_cast<double>(bytes) / static_cast<double>(runs),
              listing * 1e3 / static_cast<double>(runs));
}

}  // namespace
}  // namespace flor::remote

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fill_bucket DIRECTORY RUNS\n");
    return 2;
  }
  try {
    flor::remote::fill(argv[1], std::atoll(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
