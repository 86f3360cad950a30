// The points at which an interrupted run can be resumed, computed from its record.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Returns the name of a checkpoint inside a nested loop: the loop's name and the number of
/// completed iterations, as "train@120". Names of loops never contain '@'.
std::string step_name(std::string_view loop, std::int64_t step);
/// The name of a checkpoint inside a nested loop, parsed; nullopt for any other name.
struct StepName {
  std::string loop;
  std::int64_t step = 0;
};
std::optional<StepName> parse_step_name(std::string_view name);

/// Returns the latest point before which everything is durable: inside an iteration, if a
/// checkpoint was taken there and the boundary before that iteration is stored; otherwise at the
/// latest boundary. `latest`: ignore boundaries after this iteration of the interrupted main loop.
/// `inside`: consider checkpoints inside iterations.
ResumePoint find_resume_point(const Catalog& catalog, std::int64_t run,
                              std::int64_t latest = INT64_MAX, bool inside = true);

/// How many resume points are tried, newest first, until one can be restored completely.
constexpr int kResumeTries = 4;

/// Returns all points at which a run can resume, latest first. The last one is its beginning.
std::vector<ResumePoint> resume_points(const Catalog& catalog, std::int64_t run);

/// True if both are the same place in the program; ignores `kept`.
bool is_same_place(const ResumePoint& a, const ResumePoint& b);

/// Returns the points at which all of these runs can resume, latest first. The last one is the
/// beginning.
std::vector<ResumePoint> common_resume_points(const Catalog& catalog,
                                              std::span<const std::int64_t> runs);

/// Returns the nearest checkpoint inside a nested loop that was taken before the point: in the same
/// execution of the loop, or, if the point is the beginning of an iteration, in the iteration
/// before it. A checkpoint at the end of the loop does not count. Returns nullopt if none is
/// stored.
std::optional<CheckpointInfo> step_before(const Catalog& catalog, std::int64_t run,
                                          const ResumePoint& point);

/// Returns "epoch 3, step 120 of train", "epoch 3" or "the end of its loops".
std::string print_point(const ResumePoint& point);

}  // namespace flor::store
