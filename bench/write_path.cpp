// Measures how fast checkpoints are written to disk. Usage: write_path DIRECTORY [MIB [ROUNDS]]
//
//   1. Bytes that need no encoding: Flor at Effort::raw beside pwrite of 1 MiB pieces and fdatasync
//      of the same bytes, in turns, with what of it is hashing and checksums.
//   2. Encoding of fp32 weights and of their differences at full and fast effort, with one and two
//      threads, beside memcpy, zstd -1 and zstd -3 on the same chunks.
//   3. A checkpoint of 300 small items, and one of the same bytes in one item.
//
// Times are medians; CPU is that of all threads of the process, which other work on the machine
// disturbs less than it does the wall clock.
#include "pack/chunk_encoder.h"
#include "store/codec_material.h"

#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace flor::store;
using Bytes = std::vector<std::byte>;

struct Cost {
  double wall = 0;
  double cpu = 0;
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Cost measure(const std::function<void()>& work) {
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), cpu_seconds() - cpu};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The costs of each method, round by round, in the order in which the methods first appeared.
class Table {
 public:
  void add(const std::string& way, Cost cost) {
    if (!rows_.contains(way)) order_.push_back(way);
    rows_[way].push_back(cost);
  }

  /// Prints rates, and the medians of the ratios to the method `one` of the same round.
  void print(double bytes, const std::string& one) const {
    fmt::print("{:<34} {:>10} {:>10} {:>14} {:>14}\n", "", "GB/s wall", "GB/s CPU", "wall, ratio",
               "CPU, ratio");
    for (const std::string& way : order_) {
      const auto& costs = rows_.at(way);
      const auto& ones = rows_.at(one);
      std::vector<double> wall, cpu, wall_ratio, cpu_ratio;
      for (std::size_t i = 0; i < costs.size(); ++i) {
        wall.push_back(costs[i].wall);
        cpu.push_back(costs[i].cpu);
        wall_ratio.push_back(ones[i].wall / costs[i].wall);
        cpu_ratio.push_back(ones[i].cpu / costs[i].cpu);
      }
      fmt::print("{:<34} {:>10.2f} {:>10.2f} {:>14.3f} {:>14.3f}\n", way,
                 bytes / median(wall) / 1e9, bytes / median(cpu) / 1e9, median(wall_ratio),
                 median(cpu_ratio));
    }
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::vector<Cost>> rows_;
};

std::size_t pieces_of(const Bytes& bytes) { return bytes.size() / kChunkBytes; }

std::span<const std::byte> piece(const Bytes& bytes, std::size_t index) {
  return std::span(bytes).subspan(index * kChunkBytes, kChunkBytes);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void write_plainly(const fs::path& path, const Bytes& bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666);
  require(file >= 0, "cannot create a file");
  for (std::size_t i = 0; i < pieces_of(bytes); ++i) {
    require(::pwrite(file, piece(bytes, i).data(), kChunkBytes,
                     static_cast<off_t>(i * kChunkBytes)) == static_cast<ssize_t>(kChunkBytes),
            "cannot write");
  }
  require(::fdatasync(file) == 0, "cannot sync");
  ::close(file);
}

Run new_run(Store& store) {
  NewRun run;
  run.experiment = "write_path";
  return store.catalog().add_run(run);
}

CheckpointKey boundary(std::int64_t iteration) {
  return {CheckpointKind::boundary, 0, iteration, ""};
}

void hash_all(ChunkEncoder& encoder, const Bytes& bytes) {
  std::vector<std::span<const std::byte>> contents;
  for (std::size_t i = 0; i < pieces_of(bytes); ++i) contents.push_back(piece(bytes, i));
  std::vector<Digest> digests(contents.size());
  encoder.hash(contents, digests);
}

void write_raw(const fs::path& home, const Bytes& bytes, unsigned threads, Table* table) {
  {
    const auto store = Store::open(home, OpenMode::create);
    WriterOptions options;
    options.threads = threads;
    options.effort = Effort::raw;
    CheckpointWriter writer(*store, new_run(*store).id, options);
    const Snapshot snapshot{
        {{{"noise", ElementType::bytes, {}, bytes.size()}, Content(Content(), bytes.data())}}};
    const Cost cost = measure([&] { writer.write(boundary(0), snapshot); });
    if (table) table->add(fmt::format("Flor, raw, {} threads", threads), cost);
  }
  fs::remove_all(home);
}

void write_plain(const fs::path& file, const Bytes& bytes, Table* table) {
  const Cost cost = measure([&] { write_plainly(file, bytes); });
  if (table) table->add("write, fdatasync", cost);
  fs::remove(file);
}

void writing(const fs::path& directory, std::size_t mebibytes, int rounds) {
  const Bytes bytes = flor::testing::noise_bytes(mebibytes << 20, 1);
  Table table;
  for (int round = -1; round < rounds; ++round) {
    Table* kept = round < 0 ? nullptr : &table;  // the first round warms up
    const std::function<void()> ways[] = {
        [&] { write_plain(directory / "plain", bytes, kept); },
        [&] { write_raw(directory / "home", bytes, 1, kept); },
        [&] { write_raw(directory / "home", bytes, 2, kept); },
    };
    for (int i = 0; i < 3; ++i) ways[(i + round + 3) % 3]();  // each method is the first one in
                                                              // some rounds
    ChunkEncoder encoder(WriterOptions{1, nullptr, Effort::raw});
    if (kept) table.add("(hashing alone, 1 thread)", measure([&] { hash_all(encoder, bytes); }));
  }
  fmt::print("\n{} MiB that need no encoding, {} rounds; ratio: to plain writing\n", mebibytes,
             rounds);
  table.print(static_cast<double>(bytes.size()), "write, fdatasync");
}

void run_zstd(int level, const Bytes& bytes, Bytes& out) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  for (std::size_t i = 0; i < pieces_of(bytes); ++i) {
    ZSTD_compressCCtx(context.get(), out.data(), out.size(), piece(bytes, i).data(), kChunkBytes,
                      level);
  }
}

void encoding(std::size_t mebibytes, int rounds) {
  const auto material = flor::testing::stepped_weights(ElementType::f32, mebibytes << 18, 1e-3);
  const Bytes& bytes = material.raw;
  Bytes copy(bytes.size());
  std::vector<NewChunk> whole(pieces_of(bytes));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    whole[i].type = ElementType::f32;
    whole[i].raw = piece(bytes, i);
  }
  std::vector<NewChunk> differences = whole;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    differences[i].base = NewChunk::Base{{1, 0}, {}, piece(material.base, i)};
  }
  Table table;
  for (int round = 0; round < rounds; ++round) {
    table.add("memcpy", measure([&] { std::memcpy(copy.data(), bytes.data(), bytes.size()); }));
    for (const int level : {1, 3}) {
      table.add(fmt::format("zstd -{}", level), measure([&] { run_zstd(level, bytes, copy); }));
    }
    for (const Effort effort : {Effort::full, Effort::fast}) {
      const char* names[] = {"full", "fast"};
      for (const unsigned threads : {1u, 2u}) {
        ChunkEncoder encoder(WriterOptions{threads, nullptr, effort});
        const auto discard = [](const NewChunk&, const EncodedChunk&) {};
        const auto name = [&](const char* what) {
          return fmt::format("Flor, {}{}, {} threads", names[static_cast<int>(effort)], what,
                             threads);
        };
        encoder.encode(std::span(whole).first(2), discard);  // touches the encoder's memory
        table.add(name(""), measure([&] { encoder.encode(whole, discard); }));
        if (effort != Effort::full) continue;
        table.add(name(", differences"), measure([&] { encoder.encode(differences, discard); }));
      }
    }
  }
  fmt::print("\n{} MiB of fp32 weights, {} rounds; ratio: to zstd -3\n", mebibytes, rounds);
  table.print(static_cast<double>(bytes.size()), "zstd -3");
}

SnapshotItem make_item(const std::string& name, Bytes bytes) {
  const auto memory = std::make_shared<Bytes>(std::move(bytes));
  return {{name, ElementType::f32, {}, memory->size()}, Content(memory, memory->data())};
}

/// Biases, norms and counters of 8 to 4096 bytes, which are new in every checkpoint.
Snapshot make_small_items(bool in_one, unsigned round) {
  Snapshot snapshot;
  Bytes joined;
  for (std::size_t i = 0; i < 300; ++i) {
    Bytes bytes =
        flor::testing::weights(ElementType::f32, 2 + (i * 37 % 1023), i * 1000 + round).raw;
    joined.insert(joined.end(), bytes.begin(), bytes.end());
    snapshot.items.push_back(make_item(fmt::format("item{}", i), std::move(bytes)));
  }
  if (in_one) snapshot.items = {make_item("all", std::move(joined))};
  return snapshot;
}

void small_items(const fs::path& directory, int rounds, bool in_one) {
  const fs::path home = directory / "home";
  std::vector<double> wall, cpu;
  std::uint64_t raw = 0;
  std::uint64_t stored = 0;
  {
    const auto store = Store::open(home, OpenMode::create);
    CheckpointWriter writer(*store, new_run(*store).id);
    for (int round = 0; round < rounds; ++round) {
      const Snapshot snapshot = make_small_items(in_one, static_cast<unsigned>(round));
      const Cost cost = measure([&] {
        const CheckpointInfo info = writer.write(boundary(round), snapshot);
        raw += info.raw_bytes;
        stored += info.stored_bytes;
      });
      wall.push_back(cost.wall);
      cpu.push_back(cost.cpu);
    }
  }
  const std::uint64_t catalog = fs::file_size(home / "catalog.db");
  fs::remove_all(home);
  const auto per = [&](std::uint64_t bytes) { return bytes / static_cast<std::uint64_t>(rounds); };
  fmt::print(
      "{:<34} {:>8.1f} ms wall {:>6.1f} ms CPU, {} bytes raw, {} in the pack, {} in the "
      "catalog\n",
      in_one ? "the same bytes as one item" : "300 small items", 1e3 * median(wall),
      1e3 * median(cpu), per(raw), per(stored), per(catalog));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: write_path DIRECTORY [MIB [ROUNDS]]\n");
    return 2;
  }
  try {
    const fs::path directory = fs::path(argv[1]) / fmt::format("write_path-{}", ::getpid());
    const auto mebibytes = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 128);
    const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
    fs::create_directories(directory);
    writing(directory, mebibytes, rounds);
    encoding(std::min<std::size_t>(mebibytes, 48), rounds);
    fmt::print("\na checkpoint of\n");
    small_items(directory, 5 * rounds, false);
    small_items(directory, 5 * rounds, true);
    fs::remove_all(directory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_path: {}\n", error.what());
    return 1;
  }
  return 0;
}
