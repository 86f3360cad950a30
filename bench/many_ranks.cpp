// Records with many ranks into one store at the same time; some of them are killed and resumed:
//   many_ranks HOME [RANKS] [EPOCHS] [KILLED]
// RANKS processes (default 1,000) of one group record EPOCHS epochs (100) each. They make steps
// together, like ranks that exchange gradients. Each epoch has a boundary with a state of the rank
// and one that all ranks share, ten values, and its progress. In the middle KILLED of them (50) are
// killed, all others end, and the group is resumed at its last common point. Prints how often the
// index was changed while all recorded, how long an epoch took, and how much of each rank is stored
// at the end.
#include "checkpoint/peer_checkpoints.h"
#include "database/store_impl.h"
#include "index/catalog/resume_point.h"

#include <flor/store/store.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace flor::store;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kOwnBytes = 4'096, kSharedBytes = 65'536;

/// In memory that all processes share: how many ranks have reached which point.
struct Board {
  std::atomic<int> begun{0}, go{0};
  std::atomic<int> done[1 << 16];
};

SnapshotItem item(const std::string& name, std::uint64_t seed, std::size_t bytes) {
  auto content = std::make_shared<std::vector<std::byte>>(bytes);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random();
    std::memcpy(content->data() + i, &bits, sizeof(bits));
  }
  return {{name, ElementType::bytes, {}, bytes}, Content(content, content->data())};
}

/// The state of a rank before an epoch.
Snapshot state(int rank, std::int64_t epoch) {
  const auto seed = static_cast<std::uint64_t>(epoch);
  return {{item("model", seed, kSharedBytes),
           item("generator", (static_cast<std::uint64_t>(rank) + 1) << 32 | seed, kOwnBytes)}};
}

CheckpointKey boundary(std::int64_t epoch) {
  return {CheckpointKind::boundary, 0, epoch, ""};
}

struct Task {
  std::filesystem::path home;
  Board* board;
  int ranks;
  std::int64_t epochs, until;
  std::int64_t group, run;
  std::string leader;
};

/// Records the epochs from `first` on, as rank `rank`. A rank that is to be killed stops and waits
/// at `until`.
int record(const Task& task, int rank, std::int64_t first) {
  const auto store = Store::open(task.home, OpenMode::create);
  Catalog& catalog = store->catalog();
  NewRun start;
  start.experiment = "ranks";
  start.started_us = 1'700'000'000'000'000 + rank;
  start.rank = RankPlace{task.group, rank, task.ranks};
  Run run;
  if (task.run != 0) {
    run = catalog.run(task.run).value();
    Resumption resumption;
    resumption.point.iteration = resumption.point.epoch = first;
    resumption.point.boundary = true;
    catalog.resume_run(run.id, resumption);
  } else {
    run = catalog.add_run(start);
  }
  const auto lock = store->lock_run(run.key);
  if (!lock) return 3;
  catalog.say_in_journal(run.id);
  WriterOptions options;
  options.threads = 1;
  CheckpointWriter writer(*store, run.id, options);
  std::optional<PeerCheckpoints> leader;
  if (rank > 0) leader.emplace(*store, task.leader);
  const auto store_boundary = [&](std::int64_t epoch) {
    if (leader) {
      leader->follow();
      const auto* stored = leader->find(boundary(epoch));
      if (stored) writer.also_stored(stored->chunks);
    }
    writer.write(boundary(epoch), state(rank, epoch));
  };
  store_boundary(first);
  ++task.board->begun;
  while (task.board->go == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (std::int64_t epoch = first; epoch < task.epochs; ++epoch) {
    while (epoch == task.until) ::pause();
    std::vector<Value> values(10);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].name = "loss";
      values[i].place = {"epoch/train", epoch, static_cast<std::int64_t>(i), ""};
      values[i].value = static_cast<double>(epoch) + static_cast<double>(i) / 16;
    }
    catalog.add_values(run.id, values);
    Progress progress;
    progress.loops = {{.ordinal = 0, .name = "epoch", .first_epoch = 0, .iterations = epoch + 1}};
    progress.iterations = {{.main_loop = 0, .iteration = epoch, .seconds = 1}};
    catalog.add_progress(run.id, progress);
    store_boundary(epoch + 1);
    // No rank is more than an epoch ahead of the others.
    ++task.board->done[epoch];
    while (task.board->done[epoch] < task.ranks)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  catalog.finish_run(run.id, 1'700'000'100'000'000, false, "");
  return 0;
}

pid_t start(const Task& task, int rank, std::int64_t first) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int status = 99;
  try {
    status = record(task, rank, first);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  ::_exit(status);
}

double seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

/// The commits of other processes that a database connection sees when it looks each millisecond.
struct Changes {
  std::int64_t count = 0;
  double seconds = 0;
};

/// Counts changes until `ended`. `store` must have been opened before, because opening reads the
/// journals into the index.
Changes watch(const Store& store, const std::function<bool()>& ended) {
  Database& database = *store.impl().database;
  const auto mark = [&] {
    const auto row = database.connection("PRAGMA data_version");
    row->step();
    return row->integer(0);
  };
  Changes changes;
  const auto begun = Clock::now();
  for (std::int64_t last = mark(); !ended();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t now = mark();
    changes.count += now - last;
    last = now;
  }
  changes.seconds = seconds(begun);
  return changes;
}

/// Runs all ranks from epoch `first` on; the last `killed` of them wait at `until` and are killed.
/// Returns how many ended well.
int run_all(Task task, const std::vector<std::int64_t>& runs, std::int64_t first, int killed,
            std::int64_t until) {
  task.board->begun = task.board->go = 0;
  const auto begun = Clock::now();
  std::vector<pid_t> pids;
  const auto await = [&](int count) {
    while (task.board->begun < count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (const pid_t ended = ::waitpid(-1, nullptr, WNOHANG); ended <= 0) continue;
      std::printf("a rank has ended before all had begun; %d have begun after %.1f s\n",
                  task.board->begun.load(), seconds(begun));
      for (const pid_t pid : pids) ::kill(pid, SIGKILL);
      std::exit(1);
    }
  };
  for (int rank = 0; rank < task.ranks; ++rank) {
    if (!runs.empty()) task.run = runs[static_cast<std::size_t>(rank)];
    task.until = rank < task.ranks - killed ? -1 : until;
    pids.push_back(start(task, rank, first));
    if (rank > 0) continue;
    await(1);
    const auto store = Store::open(task.home, OpenMode::read_only);
    const Run leader = store->catalog().runs("ranks", 1, RunDetail::summary, RunRanks::first).at(0);
    task.group = leader.id;
    task.leader = leader.key;
  }
  await(task.ranks);
  std::printf("%d ranks have begun after %.1f s\n", task.ranks, seconds(begun));
  const auto watching = Store::open(task.home, OpenMode::read_only);
  task.board->go = 1;
  const std::int64_t last = killed > 0 ? until : task.epochs;
  const auto others_came = [&](std::int64_t epoch) {
    return task.board->done[epoch - 1] >= task.ranks;
  };
  const Changes changes = watch(*watching, [&] { return others_came(last); });
  std::printf("epochs %lld to %lld: %.2f s each; the index was changed %lld times, %.2f a second\n",
              static_cast<long long>(first), static_cast<long long>(last - 1),
              changes.seconds / static_cast<double>(last - first),
              static_cast<long long>(changes.count),
              static_cast<double>(changes.count) / changes.seconds);
  const auto ending = Clock::now();
  if (killed > 0) {
    // First some ranks are killed, then all, because the others wait for those in vain.
    for (int rank = task.ranks - killed; rank < task.ranks; ++rank)
      ::kill(pids[static_cast<std::size_t>(rank)], SIGKILL);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  }
  int well = 0;
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    well += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  std::printf("all have ended after %.1f s\n", seconds(ending));
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: many_ranks HOME [RANKS] [EPOCHS] [KILLED]\n");
    return 2;
  }
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
  if (memory == MAP_FAILED) return 1;
  Task task{.home = argv[1],
            .board = new (memory) Board,
            .ranks = number(2, 1000),
            .epochs = number(3, 100),
            .until = -1,
            .group = 0,
            .run = 0,
            .leader = {}};
  const int killed = number(4, 50);
  const std::int64_t middle = task.epochs / 2;
  std::int64_t first = 0;
  std::vector<std::int64_t> runs;
  if (killed > 0) {
    run_all(task, runs, 0, killed, middle);
    const auto begun = Clock::now();
    const auto store = Store::open(task.home, OpenMode::create);
    const double entered = seconds(begun);
    Catalog& catalog = store->catalog();
    task.group = catalog.runs("ranks", 1, RunDetail::summary, RunRanks::first).at(0).id;
    for (const Run& run : catalog.ranks(task.group)) runs.push_back(run.id);
    const auto points = common_resume_points(catalog, runs);
    first = points.empty() ? -1 : points.front().epoch;  // the latest common point
    std::printf("after the kill the index was up to date in %.1f s; the last common point of %zu "
                "ranks is epoch %lld, in %.2f s\n",
                entered, runs.size(), static_cast<long long>(first), seconds(begun) - entered);
    if (first < 0) return 1;
  }
  for (std::int64_t epoch = first; epoch < task.epochs; ++epoch) task.board->done[epoch] = 0;
  const int well = run_all(task, runs, first, 0, -1);
  const auto store = Store::open(task.home, OpenMode::read_only);
  std::int64_t epochs = 0, values = 0, boundaries = 0, wrong = 0;
  const Run leader = store->catalog().runs("ranks", 1, RunDetail::summary, RunRanks::first).at(0);
  for (const Run& run : store->catalog().ranks(leader.id)) {
    epochs += run.epochs;
    for (const MetricSummary& metric : store->catalog().metrics(run.id)) values += metric.count;
    for (const CheckpointInfo& info : store->catalog().checkpoints(run.id)) {
      ++boundaries;
      const CheckpointReader reader(*store, info.id);
      const Snapshot expected = state(static_cast<int>(run.start.rank->rank), info.key.iteration);
      for (std::size_t i = 0; i < expected.items.size(); ++i) {
        const auto content = reader.read(i);
        wrong += content.size() != expected.items[i].item.bytes ||
                 std::memcmp(content.data(), expected.items[i].content.get(), content.size()) != 0;
      }
    }
  }
  std::printf("%d ranks ended well; %lld epochs, %lld values, %lld checkpoints, %lld of them wrong\n",
              well, static_cast<long long>(epochs), static_cast<long long>(values),
              static_cast<long long>(boundaries), static_cast<long long>(wrong));
  return well == task.ranks && wrong == 0 ? 0 : 1;
}
