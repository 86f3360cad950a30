// A store in a directory of its own, and the verbs that the tests of the store are written with.
#pragma once

#include "support/packs.h"
#include "support/temporary_directory.h"

#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace flor::store {

/// A snapshot whose content is a function of its arguments: what a model of three tensors and a
/// counter looks like after `step` steps. Neighbouring steps differ little, different seeds wholly.
inline Snapshot make_snapshot(unsigned seed, int step, std::size_t weights = 400'000) {
  const auto tensor = [](std::string name, ElementType type, std::size_t bytes) {
    auto memory = std::shared_ptr<std::byte[]>(new std::byte[bytes]);
    SnapshotItem item{{std::move(name), type, {}, bytes}, Content(memory, memory.get())};
    item.item.sizes = {static_cast<std::int64_t>(bytes / element_size(type))};
    return std::pair(item, memory.get());
  };
  Snapshot snapshot;
  const auto add_floats = [&](const char* name, std::size_t count, unsigned salt) {
    auto [item, memory] = tensor(name, ElementType::f32, count * sizeof(float));
    std::minstd_rand random(seed * 31 + salt);
    for (std::size_t i = 0; i < count; ++i) {
      const float start = static_cast<float>(random()) * 1e-10f - 0.1f;
      const float value = start * (1.0f + 1e-5f * static_cast<float>(step));
      std::memcpy(memory + i * sizeof(float), &value, sizeof(float));
    }
    snapshot.items.push_back(item);
  };
  add_floats("model/fc1.weight", weights, 1);
  add_floats("model/fc1.bias", 500, 2);
  add_floats("optimizer/fc1.weight/momentum", weights / 2, static_cast<unsigned>(3 + step));
  auto [item, memory] = tensor("optimizer/step", ElementType::i64, sizeof(std::int64_t));
  const std::int64_t value = step;
  std::memcpy(memory, &value, sizeof(value));
  item.item.sizes.clear();
  snapshot.items.push_back(item);
  return snapshot;
}

inline Snapshot bytes_snapshot(const std::string& name, std::vector<std::byte> bytes) {
  auto memory = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  const std::size_t size = memory->size();
  return {{{{name, ElementType::bytes, {}, size}, Content(memory, memory->data())}}};
}

inline std::vector<std::byte> random_bytes(unsigned seed, std::size_t size) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

inline CheckpointKey boundary(std::int64_t iteration) {
  return {CheckpointKind::boundary, 0, iteration, ""};
}

inline NewRun new_run(const std::string& experiment = "linear") {
  NewRun run;
  run.experiment = experiment;
  run.started_us = 1'700'000'000'000'000;
  run.commit = "0123456789abcdef0123456789abcdef01234567";
  run.repository = run.directory = "/src/linear";
  run.program = "/src/linear/build/linear";
  run.program_digest = "00ff";
  run.command = {"./linear", "--flor", experiment};
  run.environment = {{"threads", "2"}, {"host", "a"}};
  return run;
}

/// What is stored there is bit for bit the snapshot.
inline void expect_holds(const Store& store, std::int64_t checkpoint, const Snapshot& snapshot,
                         unsigned threads = 0) {
  const CheckpointReader reader(store, checkpoint);
  ASSERT_EQ(reader.items().size(), snapshot.items.size());
  std::vector<std::vector<std::byte>> contents(snapshot.items.size());
  std::vector<Destination> destinations;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    ASSERT_EQ(reader.items()[i], snapshot.items[i].item);
    contents[i].resize(snapshot.items[i].item.bytes);
    destinations.push_back({i, contents[i]});
  }
  reader.read(destinations, threads);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (contents[i].empty()) continue;
    EXPECT_EQ(std::memcmp(contents[i].data(), snapshot.items[i].content.get(), contents[i].size()),
              0)
        << snapshot.items[i].item.name << " of checkpoint " << checkpoint;
    EXPECT_EQ(reader.digest(i), item_digest(contents[i]));
  }
}

/// Everything that `check` reports, one finding a line.
inline std::string damage(const Store& store, bool read_data = true) {
  std::string text;
  for (const Finding& finding : check(store, read_data).findings) text += finding.what + "\n";
  return text;
}

/// Runs `body` in a process of its own, which ends with its result; an exception is status 99.
inline pid_t start_process(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int status = 99;
  try {
    status = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child: %s\n", error.what());
  }
  ::_exit(status);
}

/// Exit status, or minus the signal.
inline int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class StoreTest : public ::testing::Test {
 protected:
  using Run = flor::store::Run;  // not testing::Test::Run

  std::filesystem::path home() const { return directory_ / "home"; }
  std::shared_ptr<Store> open(OpenMode mode = OpenMode::create) {
    return Store::open(home(), mode);
  }

  std::vector<std::filesystem::path> packs() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : flor::testing::packs_of(home())) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  std::uint64_t bytes_in_packs() const {
    std::uint64_t bytes = 0;
    for (const auto& path : packs()) bytes += std::filesystem::file_size(path);
    return bytes;
  }

  flor::testing::TemporaryDirectory directory_;
};

/// As if nothing had changed it for two hours: `flor gc` takes it for what a killed process left.
inline void make_old(const std::filesystem::path& path) {
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}
inline void make_packs_old(const std::filesystem::path& home) {
  for (const auto& pack : flor::testing::packs_of(home)) make_old(pack);
}

/// The message of the exception of type E that `body` throws.
template <typename E>
std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace flor::store
