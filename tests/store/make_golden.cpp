// Makes a golden store: one of everything that the present format knows, small.
//   make_golden tests/store/golden/NAME
// Run by hand when the format gained something. The directory must not exist; once there is a
// release, older stores stay beside it (docs/internals/format.md).
#include "checkpoint/named_checkpoints.h"
#include "database/sqlite.h"
#include "golden_group.h"
#include "golden_text.h"
#include "queue/job_queue.h"
#include "queue/sightings.h"
#include "retention/retention.h"
#include "store/codec_material.h"

#include <flor/store/store.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

namespace {

using namespace flor::store;
using flor::testing::Material;

constexpr std::size_t kWords = 600;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

SnapshotItem item_of(const std::string& name, ElementType type, std::vector<std::int64_t> sizes,
                     std::vector<std::byte> content) {
  const std::size_t bytes = content.size();
  auto memory = std::make_shared<std::vector<std::byte>>(std::move(content));
  return {{name, type, std::move(sizes), bytes}, Content(memory, memory->data())};
}

/// Tensors that give the codec reason for each of its forms, before a step and after it.
std::vector<Snapshot> steps_of_every_form() {
  using namespace flor::testing;
  const std::pair<const char*, Material> materials[] = {
      {"stepped", stepped_weights(ElementType::f32, kWords, 1e-5)},
      {"stepped64", stepped_weights(ElementType::f64, kWords, 1e-5)},
      {"scaled", scaled_values(ElementType::f32, kWords, 1e-4)},
      {"redrawn", redrawn_values(ElementType::f32, 4 * kWords)},
      {"even", evenly_stepped_weights(ElementType::f32, 4 * kWords, 1e-5)},
      {"few", few_changes(ElementType::bf16, kWords)},
      {"half", stepped_weights(ElementType::f16, kWords, 1e-3)},
      {"complex", stepped_weights(ElementType::c64, kWords, 1e-5)},
      {"complex128", stepped_weights(ElementType::c128, kWords, 1e-5)}};
  std::vector<Snapshot> steps(2);
  for (const auto& [name, material] : materials) {
    const auto size = static_cast<std::int64_t>(material.raw.size() / element_size(material.type));
    steps[0].items.push_back(item_of(name, material.type, {size}, material.base));
    steps[1].items.push_back(item_of(name, material.type, {size}, material.raw));
  }
  return steps;
}

/// What does not change, and what the codec knows nothing of.
void add_others(Snapshot& snapshot, int step) {
  using namespace flor::testing;
  const Material thin = thinned_weights(ElementType::f32, 4 * kWords);
  snapshot.items.push_back(
      item_of("thin", ElementType::f32, {4, static_cast<std::int64_t>(kWords)}, thin.raw));
  // Three chunks, two contents.
  snapshot.items.push_back(item_of("zeros", ElementType::f32, {655'360, 1},
                                   std::vector<std::byte>(2'621'440, std::byte{0})));
  std::vector<std::int64_t> counters(kWords);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    counters[i] = static_cast<std::int64_t>(i * i) + step;
  }
  snapshot.items.push_back(item_of("counters", ElementType::i64, {600}, bytes_of(counters)));
  const ElementType small[] = {ElementType::boolean, ElementType::u8, ElementType::i8,
                               ElementType::i16, ElementType::i32};
  for (const ElementType type : small) {
    const std::size_t bytes = 8 * element_size(type);
    snapshot.items.push_back(item_of(std::string(to_string(type)), type, {2, 4},
                                     noise_bytes(bytes, static_cast<std::uint64_t>(step + 1))));
  }
  const float odd[] = {-0.0f, std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::denorm_min(), 1.0f};
  snapshot.items.push_back(
      item_of("odd", ElementType::f32, {5}, bytes_of(std::vector<float>(odd, odd + 5))));
  snapshot.items.push_back(item_of("rng", ElementType::bytes, {}, noise_bytes(700, 5)));
  snapshot.items.push_back(item_of("nothing", ElementType::f32, {0, 3}, {}));
  snapshot.items.push_back(item_of("step", ElementType::i64, {}, noise_bytes(8, 77)));
}

/// A long series of small steps: chains as deep as they get.
Snapshot small_step(int step) {
  using namespace flor::testing;
  Noise noise(3);
  const auto value = [&](std::size_t) {
    const double start = 0.05 * noise.normal();
    return start * (1 + 1e-5 * step);
  };
  return {{item_of("weight", ElementType::f32, {600}, floats(ElementType::f32, kWords, value))}};
}

NewRun new_run(const char* experiment) {
  NewRun run;
  run.experiment = experiment;
  run.started_us = 1'700'000'000'000'000;
  run.commit = "0123456789abcdef0123456789abcdef01234567";
  run.repository = run.directory = "/src/linear";
  run.program = "/src/linear/build/linear";
  run.program_digest = "00ff";
  run.command = {"./linear", "--flor", experiment, "a \"b\""};
  run.environment = {{"threads", "2"}, {"host", "golden"}};
  return run;
}

void expect_back(const Store& store, std::int64_t checkpoint, const Snapshot& snapshot) {
  const CheckpointReader reader(store, checkpoint);
  for (std::size_t i = 0; i < snapshot.items.size(); ++i) {
    const SnapshotItem& item = snapshot.items[i];
    const auto content = reader.read(i);
    require(reader.items()[i] == item.item, "an item came back changed");
    require(content.empty() || std::memcmp(content.data(), item.content.get(), content.size()) == 0,
            "a content came back changed");
  }
}

void write(Store& store, CheckpointWriter& writer, const CheckpointKey& key,
           const Snapshot& snapshot) {
  expect_back(store, writer.write(key, snapshot).id, snapshot);
}

void log_values(Store& store, CheckpointWriter& writer, std::int64_t run) {
  const auto tensor = flor::testing::weights(ElementType::f32, 40);
  const std::string confusion =
      writer.write_object({"confusion", ElementType::f32, {5, 8}, 160}, tensor.raw);
  const std::string image = writer.write_object({"sample", ElementType::u8, {4, 4, 3}, 48},
                                                flor::testing::noise_bytes(48, 3));
  const Place outside{}, epoch{"epoch", 0, -1, ""}, step{"epoch/train", 0, 3, "4,0"};
  const Value values[] = {
      {"ok", outside, 0, ValueType::boolean, std::int64_t{1}, 0},
      {"count", epoch, 0, ValueType::integer, std::numeric_limits<std::int64_t>::min(), 0},
      {"loss", step, 0, ValueType::real, 0.1, 0},
      {"loss", step, 1, ValueType::real, std::nan("0x123"), 0},
      {"loss", step, 2, ValueType::real, -0.0, 0},
      {"note", epoch, 0, ValueType::text, std::string("grüße"), 0},
      {"config", outside, 0, ValueType::json, std::string(R"({"a":[1,null]})"), 0},
      {"confusion", epoch, 0, ValueType::tensor, confusion, 0},
      {"weights", epoch, 0, ValueType::histogram, std::string(R"({"edges":[0,1],"counts":[2]})"),
       0},
      {"sample", epoch, 0, ValueType::image, image, 0},
      {"table", epoch, 0, ValueType::table, std::string(R"({"columns":["x"],"rows":[[1]]})"), 0}};
  store.catalog().add_values(run, values);
}

void make_first_run(Store& store) {
  Catalog& catalog = store.catalog();
  const Run run = catalog.add_run(new_run("linear"));
  catalog.add_argument(run.id, {"epochs", "int", "2"});
  catalog.add_argument(run.id, {"lr", "real", "0.001"});
  CheckpointWriter writer(store, run.id);
  std::vector<Snapshot> steps = steps_of_every_form();
  for (int step = 0; step < 2; ++step) add_others(steps[static_cast<std::size_t>(step)], step);
  write(store, writer, {CheckpointKind::boundary, 0, 0, ""}, steps[0]);
  write(store, writer, {CheckpointKind::loop_end, 0, 0, "train"}, steps[1]);
  write(store, writer, {CheckpointKind::boundary, 0, 1, ""}, steps[1]);
  write(store, writer, {CheckpointKind::loop_end, 1, 0, "train~2"}, steps[0]);
  catalog.add_progress(run.id, {{{0, "epoch", 0, 2, true, false}, {1, "tune", 2, 1, true, true}},
                                {{0, 0, 1.5, 0.25}, {0, 1, 1.25, 0.125}, {1, 0, 2, 0.5}},
                                {{0, 0, "train", 7, false, 1.0}, {1, 0, "train~2", 3, true, 0.5}}});
  log_values(store, writer, run.id);
  catalog.finish_run(run.id, 1'700'000'100'000'000, false, "");
  const std::int64_t replay = catalog.add_replay({run.id,
                                                  1'700'000'200'000'000,
                                                  0,
                                                  2,
                                                  0,
                                                  1,
                                                  true,
                                                  "train",
                                                  "00ff",
                                                  {"./linear", "--replay"},
                                                  {}});
  const Value found{"hindsight", {"epoch", 1, -1, ""}, 0, ValueType::real, 0.5, replay};
  catalog.add_values(run.id, std::span(&found, 1));
  ReplayResult result{1'700'000'300'000'000, Verdict::differs, 3, 1, 2, 0, 1, "loss: 1 is not 2"};
  catalog.finish_replay(replay, result);
}

void make_second_run(Store& store) {
  const Run run = store.catalog().add_run(new_run("chain"));
  CheckpointWriter writer(store, run.id);
  for (int step = 0; step < 7; ++step) {
    write(store, writer, {CheckpointKind::boundary, 0, step, ""}, small_step(step));
  }
  store.catalog().put_gaps(run.id, std::vector<Gap>{{5, 6, false, "No space left on device"}});
  store.catalog().finish_run(run.id, 1'700'000'400'000'000, true, "killed by a test");
}

/// A run that keeps its best two epochs, and a checkpoint that the program saved.
void make_third_run(Store& store) {
  Catalog& catalog = store.catalog();
  const Run run = catalog.add_run(new_run("thinned"));
  catalog.put_strategy(run.id, {.num_to_keep = 2,
                                .score_attribute = "loss",
                                .score_order = ScoreOrder::min,
                                .tie = Tie::newer});
  CheckpointWriter writer(store, run.id);
  write(store, writer, {CheckpointKind::boundary, 0, 0, ""}, small_step(0));
  const double losses[] = {2, 4, 1, 3};
  for (int epoch = 0; epoch < 4; ++epoch) {
    const Value loss{"loss", {"epoch", epoch, -1, ""}, 0, ValueType::real, losses[epoch], 0};
    catalog.add_values(run.id, std::span(&loss, 1));
    write(store, writer, {CheckpointKind::loop_end, 0, epoch, "train"}, small_step(epoch + 1));
    write(store, writer, {CheckpointKind::boundary, 0, epoch + 1, ""}, small_step(epoch + 1));
    const std::string name = epoch == 1 ? "warm" : "s" + std::to_string(epoch + 1);
    const CheckpointKey key{CheckpointKind::saved, 0, epoch, name};
    write(store, writer, key, small_step(epoch + 10));
    catalog.add_saved(run.id, {.number = epoch + 1,
                               .name = name,
                               .key = key,
                               .place = {"epoch/train", epoch, 3, "4,0"},
                               .scores = {{"loss", losses[epoch]},
                                          {"nan", std::numeric_limits<double>::quiet_NaN()}}});
  }
  catalog.add_progress(
      run.id, {.loops = {{0, "epoch", 0, 4, true, false}},
               .iterations = {{0, 0, 1, 0.25}, {0, 1, 1, 0.25}, {0, 2, 1, 0.25}, {0, 3, 1, 0.25}},
               .executions = {}});
  catalog.finish_run(run.id, 1'700'000'500'000'000, false, "");
  retain(store, run.id, rules_of(*catalog.strategy(run.id)), Sizes::skipped);
}

/// A run with many small objects: they lie in slabs, beside items of their own.
void make_run_of_slabs(Store& store) {
  const Run run = store.catalog().add_run(new_run("many"));
  CheckpointWriter writer(store, run.id);
  for (int step = 0; step < 3; ++step) {
    std::vector<Item> parts;
    std::vector<std::byte> content;
    const auto add = [&](std::string name, ElementType type, std::vector<std::int64_t> sizes,
                         std::uint64_t bytes) {
      const auto noise = flor::testing::noise_bytes(
          bytes, parts.size() % 5 == 0 ? static_cast<std::uint64_t>(step) : 100);
      content.insert(content.end(), noise.begin(), noise.end());
      parts.push_back({std::move(name), type, std::move(sizes), bytes});
    };
    for (int i = 8; i < 48; ++i) add("sum" + std::to_string(i), ElementType::f64, {}, 8);
    add("flag", ElementType::boolean, {}, 1);
    add("nothing", ElementType::f32, {0, 3}, 0);
    for (int i = 1; i < 12; ++i) {
      add("row" + std::to_string(i) + "/values", ElementType::f32, {3}, 12);
    }
    Snapshot snapshot = small_step(step);
    auto memory = std::make_shared<std::vector<std::byte>>(std::move(content));
    snapshot.items.push_back(make_slab(std::make_shared<const std::vector<Item>>(std::move(parts)),
                                       Content(memory, memory->data())));
    snapshot.items.push_back(item_of("rng", ElementType::bytes, {}, std::vector<std::byte>(40)));
    const auto written = writer.write({CheckpointKind::boundary, 0, step, ""}, snapshot);
    require(CheckpointReader(store, written.id).items().size() == 55, "a slab came back changed");
  }
  store.catalog().finish_run(run.id, 1'700'000'600'000'000, false, "");
}

/// One epoch of a rank: its loop and its boundary.
void write_epoch(Store& store, std::int64_t run, std::int64_t rank, int epoch) {
  CheckpointWriter writer(store, run);
  const Snapshot state = golden_rank_state(rank, epoch + 1);
  write(store, writer, {CheckpointKind::loop_end, 0, epoch, "train"}, state);
  write(store, writer, {CheckpointKind::boundary, 0, epoch + 1, ""}, state);
  store.catalog().add_progress(
      run, {.loops = {{0, "epoch", 0, epoch + 1, epoch + 1 == kGoldenGroupEpochs, false}},
            .iterations = {{0, epoch, 1, 0.25}},
            .executions = {}});
}

/// Two ranks that were interrupted in their third epoch, and went on as a whole after the first:
/// what they had of the second was forgotten.
void make_group(Store& store) {
  Catalog& catalog = store.catalog();
  std::vector<Run> runs;
  RankLaunch launch{.group = 0,
                    .launch = std::string(kGoldenLaunch),
                    .started_us = 1'700'000'600'000'000,
                    .attempt = 0,
                    .commit = new_run("ddp").commit};
  for (std::int64_t rank = 0; rank < kGoldenRanks; ++rank) {
    NewRun start = new_run("ddp");
    start.rank = RankPlace{launch.group, rank, kGoldenRanks};
    runs.push_back(catalog.add_run(start));
    launch.group = runs[0].start.rank->group;
    if (rank == 0) catalog.open_launch(launch);
    for (int epoch = 0; epoch < 2; ++epoch) write_epoch(store, runs.back().id, rank, epoch);
  }
  launch.started_us += 100'000'000;
  launch.point = ResumePoint{.main_loop = 0, .iteration = 1, .epoch = 1, .boundary = true};
  for (const Run& run : runs) {
    if (run.id == launch.group) catalog.open_launch(launch);
    catalog.resume_run(run.id, {.resumed_us = launch.started_us,
                                .point = *launch.point,
                                .commit = launch.commit,
                                .program_digest = "00ff",
                                .command = {"./ddp", "--flor", "ddp", "--flor_resume"}});
    catalog.join_launch(run.id);
    for (int epoch = 1; epoch < kGoldenGroupEpochs; ++epoch) {
      write_epoch(store, run.id, run.start.rank->rank, epoch);
    }
    catalog.finish_run(run.id, launch.started_us + 100'000'000, false, "");
  }
}

/// A run for each way to come from elsewhere.
void make_origins(Store& store) {
  const std::int64_t now = 1'700'000'900'000'000;
  for (const RunOrigin& origin :
       {RunOrigin{RunOrigin::Kind::fetched, "s3://flor/golden", now},
        RunOrigin{RunOrigin::Kind::imported, "/data/model.safetensors", now + 1}}) {
    const Run run = store.catalog().add_run(new_run("origins"), {}, origin);
    CheckpointWriter writer(store, run.id);
    write(store, writer, {CheckpointKind::boundary, 0, 1, ""}, golden_rank_state(0, 1));
    store.catalog().finish_run(run.id, now + 2, false, "");
  }
}

/// A job in each state, of the checkpoints of a run and of files, and what their watches have seen.
void make_jobs(Store& store) {
  std::int64_t now = 1'700'000'800'000'000;
  const JobQueue::Clock clock = [&now] { return now += 1'000'000; };
  const auto queue = open_home_queue(store, clock);
  const std::int64_t evaluator = queue->add_evaluator("/src/judge.py:judge", "00ff");
  const std::string owner = "00000000000000aa";
  auto lock = store.lock_run(owner);
  JobOrders found{.owner = owner, .retries = {.attempts = 2}};
  WatchMemory memory(store, clock);
  const Sighting before{.watch = 0, .path = "/runs/old.pt", .file = {1, 2, 3, 4}, .content = {}};
  const auto files = memory.add("/runs", "/src/judge.py:judge", "", "", {before});
  const auto runs = memory.add("experiment thinned", "/src/judge.py:judge", "");
  for (const NamedCheckpoint& named : named_checkpoints(store, {.experiment = "thinned"})) {
    found.additions.push_back(
        {.content = named.info.digest, .evaluator = evaluator, .path = named.reference});
    found.sightings.push_back(
        {runs.id, named.reference, {.inode = named.info.id}, named.info.digest});
  }
  for (int file = 0; file < 4; ++file) {
    const std::string path = "/runs/" + std::to_string(file) + ".pt";
    const Digest content = digest_of(std::as_bytes(std::span(path)));
    found.additions.push_back({.content = content,
                               .evaluator = evaluator,
                               .arguments = R"({"split":"test"})",
                               .path = path,
                               .priority = -file});
    found.sightings.push_back({files.id, path, {1, 10 + file, 100, 1000}, content});
  }
  const std::size_t count = found.additions.size();
  found.requests = {{evaluator, count - 1, JobOrder::fifo}};
  const auto leases = queue->exchange(found).leases;
  require(leases.size() == count - 1 && count > 6, "not all jobs were leased");
  JobOrders said{.owner = owner, .retries = {.attempts = 2}};
  for (std::size_t i = 0; i + 2 < leases.size(); ++i) {
    said.reports.push_back({leases[i].lease, JobReport::Kind::done,
                            R"({"loss":0.5,"nan":"NaN","ok":true,"top":{"5":3}})"});
  }
  said.reports.push_back({leases[leases.size() - 2].lease, JobReport::Kind::failed, "no data"});
  queue->exchange(said);
  said.reports.back().kind = JobReport::Kind::failed;
  const std::int64_t dead = leases[leases.size() - 2].lease.job;
  now += 100'000'000;
  const auto again = queue->exchange(
      {.owner = owner, .retries = {.attempts = 2}, .requests = {{evaluator, 1, JobOrder::fifo}}});
  require(again.leases.size() == 1 && again.leases[0].lease.job == dead, "another was due");
  queue->exchange({.owner = owner,
                   .retries = {.attempts = 2},
                   .reports = {{again.leases[0].lease, JobReport::Kind::failed, "still no data"}}});
  queue->cancel({.ids = {leases.back().lease.job}});
}

/// Forms 0 to 8 except `same`: what equals its base is never written.
void expect_every_form(const std::filesystem::path& home) {
  Connection connection(home / "catalog.db", Connection::Mode::existing);
  std::set<std::int64_t> codecs;
  std::int64_t depth = 0;
  const auto rows = connection("SELECT codec, depth FROM chunk");
  while (rows->step()) {
    codecs.insert(rows->integer(0));
    depth = std::max(depth, rows->integer(1));
  }
  for (const std::int64_t codec : {0, 1, 2, 4, 5, 6, 7, 8}) {
    if (!codecs.contains(codec))
      std::fprintf(stderr, "no record has codec %d\n", static_cast<int>(codec));
    require(codecs.contains(codec), "not every codec was used");
  }
  std::printf("%zu codecs, depth %d\n", codecs.size(), static_cast<int>(depth));
  require(depth == 4, "no chain is as deep as it may be");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const std::filesystem::path home = argv[1];
  require(!std::filesystem::exists(home), "it exists; golden stores are never changed");
  {
    const auto store = Store::open(home, OpenMode::create);
    make_first_run(*store);
    make_second_run(*store);
    make_third_run(*store);
    make_run_of_slabs(*store);
    make_group(*store);
    make_jobs(*store);
    make_origins(*store);
    std::ofstream(home / "expected.txt") << golden_text(*store);
  }
  expect_every_form(home);
  for (const char* nothing : {"locks", "reserve"}) std::filesystem::remove(home / nothing);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
