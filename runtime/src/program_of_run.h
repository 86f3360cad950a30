// Which program a run belongs to, where a repository has several.
#pragma once

#include "build_recipe.h"

#include <flor/store/catalog.h>

#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

struct Program {
  std::string path;                   ///< of the executable
  std::optional<BuildRecipe> recipe;  ///< where flor_instrument was called for it

  /// Built as the same target, or the same file.
  bool is(const Program& other) const;
  /// "build/train", relative to `directory` where it lies below that.
  std::string print(const std::string& directory) const;
};

Program program_of(const store::Catalog& catalog, const store::Run& run);

/// Whether two programs are known to be built from equal sources; nothing: it is not known.
std::optional<bool> same_sources(const Program& a, const Program& b);

/// The latest runs that the program recorded in the directory or repository `place`, newest first:
/// of those the first that is `wanted`.
template <typename Wanted>
std::optional<store::Run> latest_run_of(const store::Catalog& catalog, const Program& program,
                                        const std::string& place, Wanted&& wanted) {
  for (std::size_t limit = 64;; limit *= 8) {
    auto runs = catalog.runs({}, limit, store::RunDetail::all, store::RunRanks::first);
    for (store::Run& run : runs) {
      if (run.start.repository != place || !wanted(run)) continue;
      if (program.is(program_of(catalog, run))) return std::move(run);
    }
    if (runs.size() < limit) return std::nullopt;
  }
}

}  // namespace flor::detail
