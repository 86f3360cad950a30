// A real Slurm of several nodes on this machine, whose directory FLOR_TEST_SLURM names
// (scripts/test.sh --slurm starts one): a fixture for tests that send work to it and kill its
// nodes.
#pragma once

#include "support/process.h"
#include "support/soon.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace flor::testing {

/// Skips where there is no cluster. `Base` is the fixture that knows the commands.
template <typename Base>
class OnSlurm : public Base {
 protected:
  void SetUp() override {
    const char* directory = std::getenv("FLOR_TEST_SLURM");
    if (!directory) GTEST_SKIP() << "no Slurm: scripts/test.sh --slurm starts one";
    cluster_ = directory;
    for (const char* node : {"n1", "n2"}) wait_for(node);
  }
  /// What a test killed or left in the queue is none of the next one's business.
  void TearDown() override {
    if (cluster_.empty()) return;
    slurm({"scancel", "--user=root"});
    for (const std::string& node : killed_) node_script("revive", node);
    for (const char* node : {"n1", "n2"}) wait_for(node);
    EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
  }

  /// Those of every process of a test, of the commands of Slurm, too.
  virtual ProcessOptions plain_options() const = 0;
  ProcessOptions options() const {
    ProcessOptions options = plain_options();
    options.environment["SLURM_CONF"] = (cluster_ / "slurm.conf").string();
    options.environment["FLOR_PATIENCE"] = "4";
    options.timeout = std::chrono::minutes(4);
    return options;
  }
  ProcessResult slurm(const std::vector<std::string>& words) const {
    return run_process(words, options());
  }
  /// Ids, one a line.
  std::string jobs_of_slurm() const { return slurm({"squeue", "--noheader", "--format=%i"}).out; }

  void kill_node(const std::string& node) {
    node_script("kill", node);
    killed_.insert(node);
  }
  void revive_node(const std::string& node) {
    node_script("revive", node);
    killed_.erase(node);
  }
  void wait_for(const std::string& node) const {
    ASSERT_TRUE(soon([&] {
      return slurm({"sinfo", "-h", "-p", "main", "-n", node, "-o", "%t"}).out == "idle\n";
    })) << node;
  }

 private:
  void node_script(const std::string& action, const std::string& node) const {
    slurm({FLOR_SLURM_CLUSTER, action, cluster_.string(), node});
  }

  std::filesystem::path cluster_;
  std::set<std::string> killed_;
};

}  // namespace flor::testing
