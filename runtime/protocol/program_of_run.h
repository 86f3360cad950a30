// Which program a run belongs to, where a repository has several.
#pragma once

#include "protocol/build_recipe.h"

#include <flor/store/catalog.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

struct Program {
  std::string path;                   ///< of the executable
  std::optional<BuildRecipe> recipe;  ///< where flor_instrument was called for it

  /// Built as the same target, or the same file.
  bool is(const Program& other) const;
  /// The properties that `is` compares, as one text.
  std::string key() const;
  /// "build/train", relative to `directory` where it lies below that.
  std::string print(const std::string& directory) const;
};

/// The fact of a run's environment that names what executed its program: the interpreter of a script.
inline constexpr const char* kInterpreterFact = "interpreter";
/// Its interpreter; empty of a program that is executed itself.
std::string interpreter_of(const store::Run& run);

Program program_of(const store::Catalog& catalog, const store::Run& run);

/// Whether two programs are known to be built from equal sources; nothing: it is not known.
std::optional<bool> same_sources(const Program& a, const Program& b);

/// The latest runs that the program recorded in the directory or repository `place` (empty:
/// anywhere), newest first: of those the first that is `wanted`. A fetched run only claims to be
/// the program's, so that it counts where there is no other.
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

/// Removes fetched runs if there are others: a name does not mean a run that another machine called
/// the same.
void leave_out_fetched(std::vector<store::Run>& runs);

/// The program of an executable, as its runs know it.
Program program_at(const store::Catalog& catalog, const std::string& path);

/// The place where a replay is asked for.
struct Surroundings {
  std::string place;      ///< root of the repository, or the directory
  std::string directory;  ///< of runs without git
  std::string head;       ///< the commit that is checked out; empty where no run was recorded
};
/// Those of the working directory. A repository that cannot be read has no version.
Surroundings surroundings();

/// The run that a replay means where none is named: the latest of the program that has ended; if it
/// recorded none, or is not known, the latest of the experiment that was recorded here last. The
/// run must be of the version that is checked out, if that is a recorded one. A fetched run only
/// where there is no other.
std::optional<store::Run> run_meant(const store::Catalog& catalog, const Surroundings& here,
                                    const std::optional<Program>& program);

/// The run that `spec` names. Where that is the name of an experiment into which several programs
/// have recorded, the latest of this one.
store::Run resolve_for(const store::Catalog& catalog, std::string_view spec,
                       const Program& program);

/// One line that names the fetched runs which `spec` does not mean, since others have their name;
/// empty if there are none.
std::string fetched_namesakes(const store::Catalog& catalog, std::string_view spec);

/// One line that says which program recorded the run, and with `option` ("--flor_run") names the
/// program's own runs; empty if it is its own, or if the program that recorded it may only have
/// been renamed.
std::string of_another_program(const store::Catalog& catalog, const store::Run& run,
                               const Program& program, std::string_view option);

}  // namespace flor::detail
