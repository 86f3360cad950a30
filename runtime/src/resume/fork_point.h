// The boundary of another run from which --flor_from begins a new one.
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
  store::ResumePoint point;  ///< the beginning of the iteration after the epoch that was named
};

/// The boundary at which the run was forked; without `kept`.
store::ResumePoint point_of_fork(const store::Fork& fork);

/// The run that RUN[@EPOCH] names, and its epoch as a text. Throws NotFound if there is no such
/// run.
store::RunAndPlace parent_of_fork(const store::Catalog& catalog, const std::string& text);

/// Without an epoch, the last boundary that is stored. Where this process is one of several, it
/// forks the run of its rank, at a boundary that all of them have stored. Brings the index up to
/// date, since the run may be one that is being recorded. Throws NotFound if there is no such run,
/// epoch or boundary, and UsageError where the numbers of ranks differ.
ForkPoint fork_point(const store::Store& store, const Flags& flags);

/// For a rank other than 0: the boundary from which rank 0, with the run `first`, began, in the run
/// of this rank. Nothing if that run is no fork. Throws NotFound if the boundary is not there any
/// more.
std::optional<ForkPoint> fork_point_of_group(const store::Catalog& catalog, std::int64_t first);

}  // namespace flor::detail
