// A run in an object store, for a replay that reads its checkpoints there when it needs them.
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
  /// Fetches the facts of `run` from the object store at `url`, with all ranks of its group: RUN or
  /// RUN@EPOCH, where NAME means the latest run there. From now on this process, and those that it
  /// starts, find its checkpoints there, by the environment (store::Elsewhere).
  FarRun(Context& context, std::string_view run, std::string_view url);
  /// Forgets the fetched runs, unless they were here before or are to be kept.
  ~FarRun();
  FarRun(const FarRun&) = delete;
  FarRun& operator=(const FarRun&) = delete;
  /// Keeps the fetched runs: the replay may begin.
  void keep() { added_.clear(); }

  /// The key of the run, which NAME may not mean here; in a group its rank 0, unless another rank
  /// was named.
  const std::string& key() const { return key_; }
  /// Reports on standard error what was fetched.
  void note(Context& context) const;

 private:
  Context& context_;
  std::vector<std::string> added_;  ///< keys of runs that were not here before
  std::string key_;
  std::vector<remote::RemoteRun> runs_;
  std::optional<remote::RemoteFacts> facts_;
  std::optional<store::Elsewhere> elsewhere_;
  std::string url_;
};

}  // namespace flor::cli
