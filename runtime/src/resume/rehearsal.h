// A rehearsal: a resumed run passes once more through iterations that are complete. Reason: a
// boundary cannot hold the locals that are attached to a nested loop, since they may be out of
// scope there. To restore a local that outlives its iteration, the last iteration that changed it
// is visited again, and its nested loops are loaded instead of executed.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::detail {

struct Rehearsal {
  std::int64_t first = 0;  ///< iteration to begin with; the point's own: no rehearsal
  std::vector<std::string> unknown;  ///< loops whose attached locals cannot be restored
};

/// How a run is resumed: where, and after which rehearsal.
struct ResumePlan {
  store::ResumePoint point;
  Rehearsal rehearsal;
};

/// The latest point that can be reached exactly; if only much earlier points can, the latest point.
/// Without `inside`, points inside an iteration do not count.
ResumePlan plan_resume(const store::Store& store, std::int64_t run, bool inside = true);

/// The plan for a given point. Throws NotFound if the run cannot be resumed there.
ResumePlan plan_resume_at(const store::Store& store, std::int64_t run,
                          const store::ResumePoint& place);

/// The latest point at which all ranks of a group can be resumed exactly; if there is none, the
/// latest at which they can be resumed at all.
store::ResumePoint plan_group_resume(const store::Store& store, std::int64_t group,
                                     bool inside = true);

/// The rehearsal that the point needs. A local that has the same value at the beginning of every
/// iteration, whatever the iteration before has left, is set by the iteration itself, and needs
/// none.
Rehearsal find_rehearsal(const store::Store& store, std::int64_t run,
                         const store::ResumePoint& point);

}  // namespace flor::detail
