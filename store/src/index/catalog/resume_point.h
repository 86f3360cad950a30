// Points at which an interrupted run can resume, decided from its record alone.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// The name of a checkpoint inside a nested loop: the loop and the number of complete iterations.
/// No name of a loop contains '@'.
std::string step_name(std::string_view loop, std::int64_t step);
/// The reverse: the parts of such a name; nothing if it is none.
struct StepName {
  std::string loop;
  std::int64_t step = 0;
};
std::optional<StepName> parse_step_name(std::string_view name);

/// The latest point before which everything is durable: inside an iteration, if that was
/// checkpointed and the boundary before it is stored; else the latest boundary.
/// `latest`: no boundary after that iteration of the interrupted main loop. Without `inside`
/// checkpoints inside iterations are skipped.
ResumePoint find_resume_point(const Catalog& catalog, std::int64_t run,
                              std::int64_t latest = INT64_MAX, bool inside = true);

/// Resume points to try at most, newest first: the first that can be restored completely is used.
constexpr int kResumeTries = 4;

/// Every point at which a run can resume, the latest first. The last one is the beginning.
std::vector<ResumePoint> resume_points(const Catalog& catalog, std::int64_t run);

/// True for the same place in the program, whatever `kept` is.
bool is_same_place(const ResumePoint& a, const ResumePoint& b);

/// The places at which all of these runs can resume, the latest first. The last one is the
/// beginning.
std::vector<ResumePoint> common_resume_points(const Catalog& catalog,
                                              std::span<const std::int64_t> runs);

/// The checkpoint inside a nested loop that is the nearest one before the point and before the end
/// of that loop: in the same execution of the loop, or, if the point is the beginning of an
/// iteration, in the iteration before it. Nothing if none is stored.
std::optional<CheckpointInfo> step_before(const Catalog& catalog, std::int64_t run,
                                          const ResumePoint& point);

/// "epoch 3, step 120 of train", "epoch 3", "the end of its loops"
std::string print_point(const ResumePoint& point);

}  // namespace flor::store
