// Runs the real `flor` on a store that the test filled through the store's public interface.
#pragma once

#include "support/content.h"
#include "support/temporary_directory.h"

#include <flor/store/store.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flor::testing {

using Json = nlohmann::ordered_json;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// How a process ended and what it wrote.
struct Outcome {
  int status = -1;  ///< exit status, or 128 + the signal
  std::string out;
  std::string err;

  /// stdout as JSON; fails the test if it is none.
  Json json() const;
  std::vector<std::string> lines() const;
};

/// What a test wants to be in a run.
struct RunPlan {
  std::string experiment = "linear";
  std::int64_t started_us = 1'700'000'000'000'000;
  std::string commit = {};
  std::string repository = {};
  store::RunOrigin origin = {};
  std::vector<store::Argument> arguments{{"epochs", "int", "3"}, {"lr", "real", "0.001"}};
  int epochs = 3;
  int steps = 4;
  double loss = 1;  ///< of the first step; halves with every epoch
};

class CliTest : public ::testing::Test {
 protected:
  /// A finished run: `epochs` epochs of a loop "train" with `steps` steps that log `loss`, then
  /// `accuracy`; at the end `note`. Both kinds of checkpoints are stored.
  store::Run record(const RunPlan& plan);
  /// A replay of the whole run that found a confusion matrix per epoch and a gradient norm per
  /// step.
  void replay(const store::Run& run, int epochs, int steps);
  /// A value at a place inside the loops "epoch" and "train"; -1: outside.
  static store::Value value(std::string name, double number, std::int64_t epoch = -1,
                            std::int64_t step = -1);

  store::Store& store();
  store::Catalog& catalog() { return store().catalog(); }
  /// Closes the store, so that its files may be changed.
  void close() { store_.reset(); }
  std::filesystem::path home() const { return directory_ / "home"; }

  /// `flor --home HOME ARGUMENTS...`, in the directory `work`, without a terminal.
  Outcome flor(std::vector<std::string> arguments);
  /// The command as given, without --home.
  Outcome bare(std::vector<std::string> arguments);
  /// The exit status of `flor` with a pipe whose reader is already gone.
  int flor_without_reader(std::vector<std::string> arguments);
  /// The exit status of `flor` with this descriptor as its stdout.
  int flor_into(int descriptor, std::vector<std::string> arguments);

  TemporaryDirectory directory_;
  std::filesystem::path work_ = directory_.path();
  std::map<std::string, std::string> environment_;  ///< beside PATH

 private:
  std::shared_ptr<store::Store> store_;
};

}  // namespace flor::testing
