// The boundary of another run from which --flor_from begins a new one.
#pragma once

#include "protocol/flags.h"
#include "retention/checkpoint_choice.h"

#include <flor/store/store.h>

#include <string>

namespace flor::detail {

struct ForkPoint {
  store::Run parent;
  store::ResumePoint point;  ///< the beginning of the iteration after the epoch that was named
};

/// The run that RUN[@EPOCH] names, and its epoch as a text. Throws NotFound if there is no such run.
store::RunAndPlace parent_of_fork(const store::Catalog& catalog, const std::string& text);

/// Without an epoch, the last boundary that is stored. Brings the index up to date, since the run may
/// be one that is being recorded. `is_rank`: this process is one of several. Throws NotFound if there
/// is no such run, epoch or boundary, and UsageError for ranks.
ForkPoint fork_point(const store::Store& store, const Flags& flags, bool is_rank);

}  // namespace flor::detail
