// The real `flor watch` and `flor jobs` with a directory, a store and evaluators of their own.
#pragma once

#include "support/process.h"
#include "support/soon.h"
#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace flor::testing {

inline void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// As much of it as can be read: a process may end while its facts are read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Nothing, or dead and waiting for a parent that does not care.
inline bool is_gone(pid_t pid) {
  const std::string facts = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = facts.rfind(')');
  return name_end == facts.npos || facts.substr(name_end + 2, 1) == "Z";
}

/// Those that have this in their environment, whatever became of their parents.
inline std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const std::string all = '\0' + read_file(entry.path() / "environ");
    if (all.find('\0' + variable + '\0') == all.npos) continue;
    if (const pid_t pid = std::stoi(name); !is_gone(pid)) found.push_back(pid);
  }
  return found;
}

/// A .safetensors file, different for each number.
inline std::string tensors(int number) {
  const std::string header = R"({"__metadata__":{"number":")" + std::to_string(number) +
                             R"("},"w":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  return length + header + std::string(100, 'x');
}

class WatchTest : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  WatchTest() { std::filesystem::create_directories(runs()); }

  std::filesystem::path runs() const { return directory_ / "runs"; }
  /// As a careful program writes it: under another name first.
  void publish(const std::string& name, const std::string& content) {
    write_file(directory_ / "temporary", content);
    std::filesystem::rename(directory_ / "temporary", runs() / name);
  }
  void publish(int number) { publish(std::to_string(number) + ".safetensors", tensors(number)); }
  std::string script(const std::string& name, const std::string& content) {
    write_file(directory_ / name, content);
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
    return (directory_ / name).string();
  }
  /// Prints {"n": 1}, and notes in `judged` what it was called with.
  std::string counting_program() {
    return script("judge.sh", "#!/bin/sh\necho \"$1\" >> '" + (directory_ / "judged").string() +
                                  "'\necho '{\"n\": 1}'\n");
  }
  /// In the order in which that happened.
  std::vector<std::string> judged_in_order() const {
    std::vector<std::string> names;
    std::ifstream in(directory_ / "judged");
    for (std::string line; std::getline(in, line);) {
      names.push_back(std::filesystem::path(line).filename());
    }
    return names;
  }
  std::multiset<std::string> judged() const {
    const auto names = judged_in_order();
    return {names.begin(), names.end()};
  }

  /// Where the jobs are: options that every command gets.
  virtual Words queue() const { return {}; }
  Words command(Words words) const {
    words.insert(words.begin(), {FLOR_CLI, "--home", (directory_ / "home").string()});
    const Words where = queue();
    words.insert(words.end(), where.begin(), where.end());
    return words;
  }
  Words watch(const std::string& evaluator, const Words& more = {}) const {
    Words words{"watch", runs().string(), "--evaluator", evaluator};
    words.insert(words.end(), more.begin(), more.end());
    return command(words);
  }
  /// By which its processes are known.
  std::string mark() const { return "FLOR_TEST_MARK=" + directory_.path().string(); }
  ProcessOptions options() const {
    return {.directory = directory_.path(),
            .environment = {{"FLOR_TEST_MARK", directory_.path().string()}}};
  }
  ProcessResult run(Words words) { return Process(std::move(words), options()).wait(); }
  ProcessResult settle(const std::string& evaluator, Words more = {}) {
    more.emplace_back("--until-idle");
    return run(watch(evaluator, more));
  }
  nlohmann::json jobs() {
    const auto result = run(command({"jobs", "--json"}));
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out)["jobs"];
  }
  std::size_t count(const std::string& state) {
    std::size_t number = 0;
    for (const auto& job : jobs()) number += job["state"] == state ? 1 : 0;
    return number;
  }
  /// Waits until it watches: its first checkpoint is judged.
  void wait_until_it_watches(const std::string& first = "first.safetensors") {
    publish(first, tensors(1'000'000));
    EXPECT_TRUE(soon([&] { return judged().count(first) == 1; }));
  }
  static void stop(Process& watcher) {
    watcher.kill(SIGTERM);
    const auto result = watcher.wait();
    EXPECT_EQ(result.status, 130) << result.err;
  }

  TemporaryDirectory directory_;
};

}  // namespace flor::testing
