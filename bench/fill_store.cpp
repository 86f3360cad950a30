// Fills a store with many runs and values, for measuring lists, plots and the page:
//   fill_store HOME [RUNS] [VALUES] [LONG] [COPIES]
// Records RUNS runs (default 10,000) of four experiments with VALUES logged values in all
// (1,000,000), and one more run, of the experiment "long", with LONG steps (default: none).
// Everything goes through the store's own interface. A HOME in memory (/dev/shm) spares the disk
// tens of thousands of transactions. The index alone is then given COPIES (default: none) of each
// run, with a key, a time and last values of their own.
#include "database/sqlite.h"

#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace flor::store;

constexpr std::int64_t kEpochs = 10;
constexpr std::int64_t kSecond = 1'000'000, kMinute = 60 * kSecond;

/// Random curves that look like those of a training.
class Training {
 public:
  explicit Training(std::uint64_t seed) : random_(seed), rate_(1 + 4 * uniform()) {}

  double loss(double share) { return 0.05 + 2.3 * std::exp(-rate_ * share) * noise(0.1); }
  double accuracy(double share) { return (1 - 0.9 * std::exp(-rate_ * share)) * noise(0.01); }

 private:
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
  double noise(double width) { return 1 + std::normal_distribution(0.0, width)(random_); }

  std::mt19937_64 random_;
  double rate_;
};

Value value(const char* name, const char* path, std::int64_t epoch, std::int64_t step,
            double number) {
  Value result;
  result.name = name;
  result.place = {path, epoch, step, ""};
  result.value = number;
  return result;
}

Run begin(Catalog& catalog, const std::string& experiment, std::int64_t index,
          std::int64_t started_us) {
  NewRun start;
  start.experiment = experiment;
  start.started_us = started_us;
  start.commit = fmt::format("{:040x}", 0xabcdef0123456789u + static_cast<unsigned>(index / 50));
  start.repository = start.directory = "/home/user/project";
  start.program = "/home/user/project/build/train";
  start.program_digest = fmt::format("{:032x}", index / 50);
  start.command = {"./build/train", "--flor", experiment, "--kwargs",
                   fmt::format("seed={}", index)};
  start.environment = {{"host", "node1"}, {"threads", "2"}, {"libtorch", "1.13.1"}};
  return catalog.add_run(start);
}

/// Records a run with `steps` steps and two values in each epoch, as a program writes them.
void train(Catalog& catalog, const Run& run, std::int64_t epochs, std::int64_t steps,
           std::uint64_t seed) {
  Training training(seed);
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<Value> values;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double share =
          static_cast<double>(epoch * steps + step) / static_cast<double>(epochs * steps);
      values.push_back(value("loss", "epoch/train", epoch, step, training.loss(share)));
    }
    const double share = static_cast<double>(epoch + 1) / static_cast<double>(epochs);
    values.push_back(value("val_loss", "epoch", epoch, -1, training.loss(share)));
    values.push_back(value("accuracy", "epoch", epoch, -1, training.accuracy(share)));
    catalog.add_values(run.id, values);
    catalog.add_progress(run.id, {.loops = {},
                                  .iterations = {{0, epoch, 1.25, 0.002}},
                                  .executions = {{0, epoch, "train", steps, false, 1.0}}});
  }
  catalog.put_main_loop(run.id, {0, "epoch", 0, epochs, true, false});
  catalog.finish_run(run.id, run.start.started_us + epochs * 5 * kSecond / 4, seed % 29 == 0,
                     seed % 29 == 0 ? "std::runtime_error: the loss is not finite" : "");
}

std::int64_t number(const char* text) {
  std::int64_t result = -1;
  std::from_chars(text, text + std::strlen(text), result);
  if (result < 0) throw std::runtime_error(fmt::format("'{}' is no number", text));
  return result;
}

void fill(const std::string& home, std::int64_t runs, std::int64_t values, std::int64_t steps) {
  const auto store = Store::open(home, OpenMode::create);
  Catalog& catalog = store->catalog();
  constexpr const char* kExperiments[] = {"linear", "convnet", "charlm", "digits"};
  constexpr std::int64_t kBegin = 1'750'000'000 * kSecond;
  const std::int64_t of_step = values / std::max<std::int64_t>(runs, 1) / kEpochs - 2;
  for (std::int64_t i = 0; i < runs; ++i) {
    const Run run = begin(catalog, kExperiments[i % 4], i, kBegin + i * kMinute);
    catalog.add_argument(
        run.id, {"lr", "real", fmt::format("{:.3f}", 0.001 * static_cast<double>(1 + i % 10))});
    catalog.add_argument(run.id, {"seed", "int", fmt::format("{}", i)});
    train(catalog, run, kEpochs, std::max<std::int64_t>(of_step, 1), static_cast<std::uint64_t>(i));
  }
  if (steps == 0) return;
  constexpr std::int64_t kLongEpochs = 100;
  const Run run = begin(catalog, "long", runs, kBegin + runs * kMinute);
  train(catalog, run, kLongEpochs, std::max<std::int64_t>(steps / kLongEpochs, 1), 7);
}

void copy_runs(const std::string& home, std::int64_t copies) {
  struct Copied {
    const char *table, *run;  ///< its column with the id of the run
    std::vector<std::pair<std::string, std::string>> changed;  ///< columns, and what they get
  };
  const Copied kTables[] = {
      {"run",
       "id",
       {{"id", "id + ?1"},
        {"key", "lower(hex(randomblob(8)))"},
        {"started_us", "started_us + ?1 * 60000000"}}},
      {"metric",
       "run",
       {{"id", ""}, {"run", "run + ?1"}, {"last", "last * (1 + random() % 1000 / 2000.0)"}}},
      {"argument", "run", {{"run", "run + ?1"}}}};
  Connection index(home + "/catalog.db", Connection::Mode::existing);
  index.execute("PRAGMA synchronous=OFF");
  const auto last = index("SELECT max(id) FROM run");
  last->step();
  const std::int64_t runs = last->integer(0);
  Transaction transaction(index);
  for (const Copied& copied : kTables) {
    std::string names, values;
    const auto columns =
        index(fmt::format("SELECT name FROM pragma_table_info('{}')", copied.table));
    while (columns->step()) {
      const std::string name = columns->text(0);
      std::string value = name;
      for (const auto& [column, changed] : copied.changed) {
        if (column == name) value = changed;
      }
      if (value.empty()) continue;
      names += (names.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + value;
    }
    const std::string sql = fmt::format("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {} <= ?2",
                                        copied.table, names, values, copied.table, copied.run);
    for (std::int64_t copy = 1; copy <= copies; ++copy) index(sql, copy * runs, runs)->run();
  }
  transaction.commit();
  index.truncate_log();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fputs("usage: fill_store HOME [RUNS] [VALUES] [LONG] [COPIES]\n", stderr);
    return 2;
  }
  fill(argv[1], argc > 2 ? number(argv[2]) : 10'000, argc > 3 ? number(argv[3]) : 1'000'000,
       argc > 4 ? number(argv[4]) : 0);
  if (argc > 5) copy_runs(argv[1], number(argv[5]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "fill_store: %s\n", error.what());
  return 1;
}
