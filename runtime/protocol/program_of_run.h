// Which program a run belongs to, for repositories that have several programs.
#pragma once

#include "protocol/build_recipe.h"

#include <flor/store/catalog.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

struct Program {
  std::string path;                   ///< path of the executable
  std::optional<BuildRecipe> recipe;  ///< if flor_instrument was called for its target

  /// True if both were built as the same target, or are the same file.
  bool is(const Program& other) const;
  /// The properties that `is` compares, as one text.
  std::string key() const;
  /// The path, e.g. "build/train", relative to `directory` if it is below it.
  std::string print(const std::string& directory) const;
};

/// The key in a run's environment for what executed its program, such as the interpreter of a
/// script.
inline constexpr const char* kInterpreterFact = "interpreter";
/// The interpreter of the run's program; empty if the program is executed itself.
std::string interpreter_of(const store::Run& run);

Program program_of(const store::Catalog& catalog, const store::Run& run);

/// Throws NotFound if no program recorded the run, since it was imported or made by flor put. `work`
/// is what cannot be done, as "replay".
void require_recording_program(const store::Run& run, std::string_view work);

/// Whether two programs were built from equal sources; nothing if it is not known.
std::optional<bool> same_sources(const Program& a, const Program& b);

/// Among the runs that the program recorded in the directory or repository `place` (empty:
/// anywhere), the latest for which `wanted(run)` is true. A fetched run only claims to be of the
/// program, so it is returned only if there is no other.
template <typename Wanted>
std::optional<store::Run> latest_run_of(const store::Catalog& catalog, const Program& program,
                                        const std::string& place, Wanted&& wanted) {
  std::optional<store::Run> fetched;
  for (std::size_t limit = 64;; limit *= 8) {
    auto runs = catalog.runs({}, limit, store::RunDetail::all, store::RunRanks::first);
    for (store::Run& run : runs) {
      if (fetched && run.origin.from_elsewhere()) continue;
      if ((!place.empty() && run.start.repository != place) || !wanted(run)) continue;
      if (!program.is(program_of(catalog, run))) continue;
      if (!run.origin.from_elsewhere()) return std::move(run);
      fetched = std::move(run);
    }
    if (runs.size() < limit) return fetched;
  }
}

/// Removes fetched runs if others remain, so that a name does not mean a run from another machine
/// that happens to have the same name.
void leave_out_fetched(std::vector<store::Run>& runs);

/// The program of an executable, with the recipe that its runs have recorded.
Program program_at(const store::Catalog& catalog, const std::string& path);

/// Where a replay was asked for.
struct Surroundings {
  std::string place;      ///< root of the repository; without git, the directory
  std::string directory;  ///< working directory, which identifies runs without git
  std::string head;       ///< the checked-out commit; empty if no run recorded it
};
/// The surroundings of the working directory. If the repository cannot be read, `head` is empty.
Surroundings surroundings();

/// The run to replay if none is named: the latest run of the program that has ended. If the program
/// recorded none, or is not known, the latest run of the experiment that was recorded here last. If
/// the checked-out version was recorded, the run must be of that version. A fetched run is returned
/// only if there is no other.
std::optional<store::Run> run_meant(const store::Catalog& catalog, const Surroundings& here,
                                    const std::optional<Program>& program);

/// The run that `spec` names. If it names an experiment into which several programs have recorded,
/// the latest run of `program`.
store::Run resolve_for(const store::Catalog& catalog, std::string_view spec,
                       const Program& program);

/// One line that names the fetched runs with the name `spec`, which are not meant since other runs
/// have that name; empty if there are none.
std::string fetched_namesakes(const store::Catalog& catalog, std::string_view spec);

/// One line that says which program recorded the run, and how to name runs of `program` with
/// `option` (such as "--flor_run"). Empty if `program` recorded the run, or may be the same program
/// renamed.
std::string of_another_program(const store::Catalog& catalog, const store::Run& run,
                               const Program& program, std::string_view option);

}  // namespace flor::detail
