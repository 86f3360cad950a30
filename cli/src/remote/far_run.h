// Replays a run that lies in an object store: checkpoints are read there when they are needed.
#pragma once

#include "checkpoint/elsewhere.h"
#include "remote/remote.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

class Context;

class FarRun {
 public:
  /// Fetches the facts of `run` (RUN or RUN@EPOCH; NAME means its latest run there), with all ranks
  /// of its group, but no checkpoints, from the object store at `url`. Sets the environment so that
  /// this process and its children read the checkpoints from there (store::Elsewhere).
  FarRun(Context& context, std::string_view run, std::string_view url);
  /// Removes the fetched runs from the store, except those that it had before, and unless `keep`
  /// was called.
  ~FarRun();
  FarRun(const FarRun&) = delete;
  FarRun& operator=(const FarRun&) = delete;
  /// Keeps the fetched runs in the store, because the replay begins.
  void keep() { added_.clear(); }

  /// The key of the run, since NAME may mean another run in this store; of a group the key of rank
  /// 0, unless `run` named another rank.
  const std::string& key() const { return key_; }
  /// Reports on standard error what was fetched.
  void note(Context& context) const;

 private:
  Context& context_;
  std::vector<std::string> added_;  ///< keys of the runs that the store did not have before
  std::string key_;
  std::vector<remote::RemoteRun> runs_;
  std::optional<remote::RemoteFacts> facts_;
  std::optional<store::Elsewhere> elsewhere_;
  std::string url_;
};

}  // namespace flor::cli
