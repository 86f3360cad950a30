// Whether a resumed run has to pass once more through an iteration that is complete. A boundary
// cannot hold the locals that are attached to a nested loop, since they may be out of scope there.
// One that outlives its iteration is therefore given its value by visiting the last iteration that
// changed it, with the recorded ends of nested loops loaded instead of executed.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::detail {

struct Rehearsal {
  std::int64_t first = 0;  ///< iteration with which to begin; the point's own: none is needed
  std::vector<std::string> unknown;  ///< loops whose attached locals cannot be restored
};

/// How a run is resumed.
struct ResumePlan {
  store::ResumePoint point;
  Rehearsal rehearsal;
};

/// The latest point that can be reached exactly; if only much earlier ones could, the latest.
/// Without `inside` it is none inside an iteration.
ResumePlan plan_resume(const store::Store& store, std::int64_t run, bool inside = true);

/// The same for a given place. Throws NotFound where the run cannot be resumed there.
ResumePlan plan_resume_at(const store::Store& store, std::int64_t run,
                          const store::ResumePoint& place);

/// The latest place at which all ranks of a group can be resumed exactly; if there is none, the
/// latest at which they can be resumed at all.
store::ResumePoint plan_group_resume(const store::Store& store, std::int64_t group,
                                     bool inside = true);

/// A local that every iteration begins with the same value, although the one before left another,
/// is set by the iteration itself and needs nothing.
Rehearsal find_rehearsal(const store::Store& store, std::int64_t run,
                         const store::ResumePoint& point);

}  // namespace flor::detail
