// A rank of a gloo group on loopback that saves checkpoints together with the others. What it does
// is said by its arguments: RANK WORLD PORT DIRECTORY STRATEGY ROUNDS [WHAT], where WHAT is
//   hang    the last rank stays away from the second save
//   die     the last rank kills itself while it writes the second checkpoint
//   differ  the last rank has another strategy
#include "meeting.h"

#include <flor/data/metrics.h>
#include <flor/dist/process_group.h>
#include <flor/save/atomic_directory.h>
#include <flor/store/error.h>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

int main(int, char** argv) {
  const int rank = std::stoi(argv[1]), world = std::stoi(argv[2]);
  const int rounds = std::stoi(argv[6]);
  const std::string what = argv[7] ? argv[7] : "";
  const bool odd = rank == world - 1;
  const auto ended = [&](int of) {
    return std::filesystem::path(argv[4]) / ("ended" + std::to_string(of));
  };

  const auto ranks = examples::meet({.rank = rank,
                                     .world = world,
                                     .port = std::stoi(argv[3]),
                                     .patience = std::chrono::seconds(20)});
  flor::ProcessGroup patient(ranks, std::chrono::seconds(20));
  flor::ProcessGroup hasty(ranks, std::chrono::seconds(1));

  int status = 0;
  try {
    auto strategy = flor::parse_save_strategy(argv[5]);
    if (what == "differ" && odd) strategy = flor::SaveStrategy::sync_all;
    const flor::AtomicDirectoryOptions saving{.name = "m", .strategy = strategy, .keep_last = 2};
    std::optional<flor::AtomicDirectory> saver(std::in_place, argv[4], patient, saving);
    for (int round = 0; round < rounds; ++round) {
      // Only where a rank stays away is nobody waited for: processes may take long to start.
      if (round == 1 && (what == "hang" || what == "die")) saver.emplace(argv[4], hasty, saving);
      const bool last = round == 1 && odd;
      if (what == "hang" && last) {
        // What it says to the patient group would else come into the middle of what they say.
        while (!std::filesystem::exists(ended(0)) || !std::filesystem::exists(ended(1))) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        break;
      }
      const auto directory = saver->prepare(/*force_save=*/round == 0 && odd);
      std::ofstream(directory / ("rank" + std::to_string(rank))) << round;
      if (what == "die" && last) ::kill(::getpid(), SIGKILL);
      saver->commit();
    }
    flor::Metrics metrics;
    metrics.sum("ranks", 1);
    metrics.mean("rank", rank, rank);
    if (what == "metrics" && odd) metrics.max("extra", 1);
    const auto all = metrics.reduced(patient);
    std::printf("%g ranks, mean %g, common %ld\n", all.at("ranks"), all.at("rank"),
                static_cast<long>(saver->latest_common().value_or(-1)));
  } catch (const flor::Error& error) {
    std::printf("error: %s\n", error.what());
    status = 1;
  }
  std::fflush(stdout);
  if (what == "hang") std::ofstream(ended(rank)).flush();
  ::_exit(status);  // a group that lost a member would wait for it
}
