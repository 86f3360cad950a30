// Where a test runs instrumented programs: a git repository, a store of its own, and a look at what
// ended up in it.
#pragma once

#include "support/git_repository.h"
#include "support/process.h"

#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

using Words = std::vector<std::string>;

inline std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(FLOR_TEST_PROGRAMS) / name;
}

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The lines that begin with one of these words.
inline std::vector<std::string> lines_with(const std::string& text, const Words& beginnings) {
  std::vector<std::string> lines;
  for (std::string& line : lines_of(text)) {
    if (std::ranges::any_of(beginnings, [&](const std::string& b) { return line.starts_with(b); }))
      lines.push_back(std::move(line));
  }
  return lines;
}

/// A directory in memory where the system has one, so that thousands of syncs cost nothing.
class MemoryDirectory {
 public:
  MemoryDirectory() {
    std::string pattern = "/dev/shm/flor-test-XXXXXX";
    if (!::mkdtemp(pattern.data())) {
      pattern = (std::filesystem::temp_directory_path() / "flor-test-XXXXXX").string();
      if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot create " + pattern);
    }
    path_ = pattern;
  }
  ~MemoryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryDirectory(const MemoryDirectory&) = delete;
  MemoryDirectory& operator=(const MemoryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Workbench {
 public:
  Workbench() {
    repository_.write("train.cpp", "int main() {}\n");
    repository_.commit_all("first");
  }

  ProcessOptions options() const {
    return {.directory = repository_.root(),
            .environment = {{"FLOR_HOME", home().string()},
                            {"FLOR_LOG", std::nullopt},
                            {"OMP_WAIT_POLICY", "passive"},
                            {"GOMP_SPINCOUNT", "0"}}};
  }
  ProcessResult run(const std::string& name, const Words& arguments) const {
    return run(name, arguments, options());
  }
  ProcessResult run(const std::string& name, const Words& arguments, ProcessOptions options) const {
    return run_process(Words{program(name).string()} + arguments, std::move(options));
  }
  std::unique_ptr<Process> start(const std::string& name, const Words& arguments) const {
    return std::make_unique<Process>(Words{program(name).string()} + arguments, options());
  }
  /// Records and insists that it went well. Every epoch is stored unless the arguments say which:
  /// the programs are so short that the tolerance would allow none.
  ProcessResult record(const std::string& name, const Words& arguments = {}) const {
    const bool said = std::ranges::any_of(arguments, [](const std::string& word) {
      return word.starts_with("--flor_every") || word.starts_with("--flor_epsilon");
    });
    const Words every = said ? Words{} : Words{"--flor_every", "1"};
    ProcessResult result = run(name, Words{"--flor", "test"} + every + arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  ProcessResult replay(const std::string& name, const Words& arguments = {}) const {
    return run(name, Words{"--replay_flor"} + arguments);
  }

  const GitRepository& repository() const { return repository_; }
  const std::filesystem::path& home() const { return home_; }
  /// Another store, e.g. one on a real disk: by default the tests do not wait for one.
  void use_home(std::filesystem::path home) { home_ = std::move(home); }

  std::shared_ptr<store::Store> store() const {
    return store::Store::open(home(), store::OpenMode::existing);
  }
  store::Run last_run() const { return store()->catalog().runs().at(0); }
  std::size_t run_count() const { return store()->catalog().runs().size(); }

  std::vector<store::Value> values(const std::string& name, bool recorded = true,
                                   bool hindsight = true) const {
    const auto opened = store();
    return opened->catalog().values({.run = opened->catalog().runs().at(0).id,
                                     .names = {name},
                                     .first_epoch = -1,
                                     .recorded = recorded,
                                     .hindsight = hindsight});
  }
  std::vector<store::Replay> replays() const {
    const auto opened = store();
    return opened->catalog().replays(opened->catalog().runs().at(0).id);
  }
  /// The keys of the stored checkpoints as "boundary 0/3" and "train 0/2".
  std::set<std::string> checkpoints() const {
    const auto opened = store();
    std::set<std::string> keys;
    for (const auto& info : opened->catalog().checkpoints(opened->catalog().runs().at(0).id)) {
      const store::CheckpointKey& key = info.key;
      keys.insert((key.loop.empty() ? "boundary" : key.loop) + " " + std::to_string(key.main_loop) +
                  "/" + std::to_string(key.iteration));
    }
    return keys;
  }
  /// Everything that `check` finds wrong, a line each.
  std::vector<std::string> damage() const {
    std::vector<std::string> found;
    for (const store::Finding& finding : store::check(*store(), true).findings) {
      found.push_back(finding.what);
    }
    return found;
  }

 private:
  GitRepository repository_;
  MemoryDirectory memory_;
  std::filesystem::path home_ = memory_.path() / "store";
};

/// Where a replay can begin and end; `count` processes share the epochs.
struct Segments {
  int count = 1;
  bool strong = false;
  Words flags;
};

struct UnionOfSegments {
  std::vector<std::string> out;  ///< lines of all segments, in order
  std::vector<ProcessResult> results;
};

inline UnionOfSegments replay_segments(const Workbench& bench, const std::string& name,
                                       const Segments& segments) {
  UnionOfSegments all;
  for (int pid = 0; pid < segments.count; ++pid) {
    Words arguments{std::to_string(pid) + "/" + std::to_string(segments.count)};
    arguments = arguments + segments.flags;
    if (segments.strong) arguments = arguments + Words{"--flor_init", "strong"};
    ProcessResult result = bench.replay(name, arguments);
    for (std::string& line : lines_of(result.out)) all.out.push_back(std::move(line));
    all.results.push_back(std::move(result));
  }
  return all;
}

/// A single line of Flor's on stderr, with a remedy in it.
MATCHER_P(SaysOnce, part, "is one line of Flor's that contains '" + std::string(part) + "'") {
  const auto lines = lines_of(arg);
  return lines.size() == 1 && lines[0].starts_with("flor: ") &&
         lines[0].find(part) != std::string::npos;
}

inline double real(const store::Value& value) { return std::get<double>(value.value); }

}  // namespace flor::testing
