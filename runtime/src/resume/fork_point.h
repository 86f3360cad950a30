// The boundary of another run from which a new run begins (--flor_from).
#pragma once

#include "protocol/flags.h"
#include "retention/checkpoint_address.h"

#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <string>

namespace flor::detail {

struct ForkPoint {
  store::Run parent;
  store::ResumePoint point;  ///< the beginning of the iteration after the named epoch
};

/// The boundary at which the run was forked; `kept` is not set.
store::ResumePoint point_of_fork(const store::Fork& fork);

/// Parses RUN[@EPOCH]: returns the run, and the epoch as text. Throws NotFound if there is no such
/// run.
store::RunAndPlace parent_of_fork(const store::Catalog& catalog, const std::string& text);

/// The boundary that --flor_from names; without an epoch the last stored one. If this process is
/// one of several ranks, it forks the run of its rank, at a boundary that all ranks have stored.
/// Updates the index, since the run may still be recorded. Throws NotFound if there is no such run,
/// epoch or boundary, and UsageError if the numbers of ranks differ.
ForkPoint fork_point(const store::Store& store, const Flags& flags);

/// For a rank other than 0: the boundary of this rank's run that corresponds to the one at which
/// rank 0's run `first` was forked. Nothing if that run is no fork. Throws NotFound if the boundary
/// is gone.
std::optional<ForkPoint> fork_point_of_group(const store::Catalog& catalog, std::int64_t first);

}  // namespace flor::detail
