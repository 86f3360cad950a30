// The boundary of another run from which --flor_from begins a new one.
#pragma once

#include "protocol/flags.h"

#include <flor/store/store.h>

namespace flor::detail {

struct ForkPoint {
  store::Run parent;
  store::ResumePoint point;  ///< the beginning of the iteration after the epoch that was named
};

/// Without an epoch, the last boundary that is stored. Brings the index up to date, since the run may
/// be one that is being recorded. `is_rank`: this process is one of several. Throws NotFound if there
/// is no such run, epoch or boundary, and UsageError for ranks.
ForkPoint fork_point(const store::Store& store, const Flags& flags, bool is_rank);

}  // namespace flor::detail
