// What `flor doctor` looks at, and what it finds.
#pragma once

#include "base/settings.h"

#include <flor/store/store.h>

#include <filesystem>
#include <string>
#include <vector>

namespace flor::cli {

enum class Health { ok, warning, failure };
std::string_view to_string(Health health);  ///< "ok", "warn", "fail"

struct Finding {
  std::string topic;  ///< "store", "BLAS"
  Health health = Health::ok;
  std::string what;
  std::string advice = {};  ///< what to do; empty where all is well
};
using Findings = std::vector<Finding>;

/// Versions of Flor and its libraries, libtorch, BLAS, threads: what is installed here. libtorch is
/// looked for as files, not loaded.
void examine_machine(Findings& findings);

/// The directory of the store, its file system and the room on it, the catalog, locks.
void examine_store(const std::filesystem::path& home, Findings& findings);

/// The git repository around the working directory.
void examine_repository(Findings& findings);

/// What would make replays of the latest runs inexact, and what was left unfinished.
void examine_runs(const store::Store& store, Findings& findings);

/// The library that a program would get for matrix products here; empty where there is none.
std::string blas_here();

}  // namespace flor::cli
