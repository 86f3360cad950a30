// Stores what a log tells as a new run.
#pragma once

#include "imports/logged_run.h"

#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace flor::cli {

/// The names of the loops of an imported run.
inline constexpr const char* kLoggedMainLoop = "epoch";
inline constexpr const char* kLoggedNestedLoop = "step";

/// The runs that were imported from logs, by the digests of these.
class ImportedLogs {
 public:
  explicit ImportedLogs(const store::Catalog& catalog);
  struct Known {
    std::string run;        ///< its key
    bool is_whole = false;  ///< false: its import was killed, or is going on
  };
  /// The run of this content; one that is whole where there are several. Nullptr if there is none.
  const Known* run_of(const std::string& digest) const;
  void note(const std::string& digest, const std::string& run) { runs_[digest] = {run, true}; }

 private:
  std::map<std::string, Known> runs_;
};

/// Makes a run of the log. Nothing of it can be executed. If that fails, the run is dropped.
/// `start` has the experiment, the time and the command; `digest` is kept with it.
store::Run import_log(store::Store& store, store::NewRun start, const std::filesystem::path& path,
                      const std::string& digest, const LoggedRun& log, std::int64_t now_us);

}  // namespace flor::cli
