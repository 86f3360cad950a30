// Reads the facts of a run and of an epoch that flor show prints as text or JSON.
#pragma once

#include "protocol/build_recipe.h"
#include "retention/proofs.h"

#include <flor/store/store.h>
#include <flor/store/used_files.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ShownRun {
  store::Run run;
  std::vector<store::Argument> arguments;
  std::vector<store::MainLoop> loops;
  std::vector<store::Iteration> iterations;
  std::vector<store::LoopExecution> executions;
  std::vector<store::CheckpointInfo> checkpoints;
  std::vector<store::MetricSummary> metrics;
  std::vector<store::Replay> replays;
  std::vector<store::Resumption> resumptions;
  std::optional<store::ResumePoint> point;         ///< from which it can be resumed; nullopt: from
                                                   ///< none
  std::optional<store::Recording> recording = {};  ///< nullopt in old runs
  std::vector<store::StorageDecision> decisions = {};
  std::vector<store::Gap> gaps = {};
  std::vector<store::SavedCheckpoint> saved = {};
  std::vector<store::DiscardedCheckpoint> discarded = {};
  std::vector<store::Proof> proofs = {};  ///< why deleted checkpoints need not be stored; one for
                                          ///< each replay and environment
  std::optional<store::CheckpointStrategy> strategy = {};
  std::optional<store::RunBuild> build = {};  ///< nullopt if the program has no recorded build
  std::optional<detail::BuildRecipe> recipe = {};
  std::vector<store::Run> ranks = {};  ///< all runs of its group, by rank; empty if it has no group
  struct Forks {
    std::optional<store::Fork> from;  ///< nullopt: the run was not forked
    std::vector<std::string> keys;    ///< keys of the runs that were forked from this run
    bool is_parent_there = true;      ///< false: the run that this run was forked from was removed
  } forks = {};

  /// A file that the run has read or written, and the runs that this connects it with; an answer to
  /// a question once.
  struct File {
    store::UsedFile file;
    std::vector<store::FileKin> kin;  ///< latest first, the first few
  };
  struct Files {
    std::vector<File> all;
    std::vector<store::FileKin> readers;  ///< runs that asked for its values or loaded its
                                          ///< checkpoints, as `kin`
  } files = {};

  static ShownRun read(const store::Store& store, store::Run run);

  /// The name of a main loop; its ordinal as text if the catalog does not know the name.
  std::string loop_name(std::int64_t ordinal) const;
  /// The epoch of an iteration, counted over all main loops.
  std::int64_t epoch_of(std::int64_t main_loop, std::int64_t iteration) const;
};

/// One epoch of a run.
struct ShownEpoch {
  std::int64_t epoch = 0;
  std::int64_t main_loop = 0, iteration = 0;
  std::optional<store::Iteration> timing;  ///< nullopt: the epoch was not completed
  std::vector<store::LoopExecution> executions;
  std::vector<store::CheckpointInfo> checkpoints;  ///< the boundaries around it, and its loop ends
  std::vector<store::Value> values;
  std::optional<store::StorageDecision> decision;  ///< why the epoch was stored, or was not

  /// Throws NotFound if the run has no such epoch.
  static ShownEpoch read(const store::Catalog& catalog, const ShownRun& shown, std::int64_t epoch);
};

}  // namespace flor::cli
