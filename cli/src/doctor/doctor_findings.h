// The examinations of `flor doctor`, and their findings.
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
  std::string topic;  ///< for example "store", "BLAS"
  Health health = Health::ok;
  std::string what;
  std::string advice = {};  ///< what to do; empty if all is well
};
using Findings = std::vector<Finding>;

/// Examines Flor and its libraries, libtorch, BLAS and threads as installed on this machine. Looks
/// for the files of libtorch without loading them.
void examine_machine(Findings& findings);

/// Examines the directory of the store, its file system and free space, the catalog, and locks.
void examine_store(const std::filesystem::path& home, Findings& findings);

/// Examines the git repository around the working directory.
void examine_repository(Findings& findings);

/// The repository around the working directory.
struct RepositoryHere {
  std::string work_tree, commit;  ///< empty without one; or why it cannot be used
};
RepositoryHere repository_here();

/// Looks for unfinished runs, and for reasons why replays of the latest runs could be inexact.
void examine_runs(const store::Store& store, Findings& findings);

/// The path of the BLAS library that a program on this machine would load; empty if there is none.
std::string blas_here();

}  // namespace flor::cli
