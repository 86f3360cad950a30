// The plan of a sweep: its program and all of its points, written down before the first is begun,
// so that a sweep that was interrupted goes on.
//
//   HOME/sweeps/NAME/plan.json   written once, as a whole
//   HOME/sweeps/NAME/lock        held by the process that runs the sweep
//   HOME/sweeps/NAME/N.lock      held while point N is recorded, by its program, too
//   HOME/sweeps/NAME/N.log       what the recordings of point N have written
//
// What became of the points is not there, but in the records of their runs.
#pragma once

#include "sweep/points.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct SweepPlan {
  std::string name;
  std::string experiment;           ///< that its runs are recorded as
  std::string from;                 ///< RUN[@EPOCH] that each of them is forked from; or empty
  std::vector<std::string> before;  ///< the program and the arguments that all points have
  std::vector<std::string> after;   ///< arguments that stand behind --kwargs
  std::filesystem::path directory;  ///< in which they are recorded
  std::int64_t made_us = 0;
  std::vector<SweepPoint> points;

  /// The command line that begins a new run of the point.
  std::vector<std::string> beginning(std::size_t point) const;
  /// The one that continues the run of this key.
  std::vector<std::string> continuing(std::size_t point, std::string_view run) const;
  /// Whether both record the same points with the same command.
  bool is_same(const SweepPlan& other) const;
};

/// A sweep as the words of a command line say it.
struct SweepWords {
  std::string name;                  ///< empty: made of the experiment and of all that follows
  std::vector<std::string> program;  ///< with --kwargs
  std::optional<SweepAxis> rows;     ///< of a file of points
  std::optional<std::uint64_t> random;
  std::uint64_t seed = 0;
};
/// Throws UsageError for words that do not fit, NotFound if there is no such program.
SweepPlan make_plan(const SweepWords& words, const std::filesystem::path& directory,
                    std::int64_t now_us);

/// The directory of the sweep, in the home.
std::filesystem::path sweep_directory(const store::Store& store, std::string_view name);
std::filesystem::path point_log(const store::Store& store, const SweepPlan& plan,
                                std::size_t point);

void write_plan(const store::Store& store, const SweepPlan& plan);
/// Nothing if there is no such sweep. Throws Error for a plan that another user could have written,
/// since its program is executed, Damaged for one that is none.
std::optional<SweepPlan> read_plan(const store::Store& store, std::string_view name);
/// The names of all sweeps, sorted.
std::vector<std::string> sweep_names(const store::Store& store);

/// A lock of a sweep or of one of its points; released with the object, or with the last process
/// that has inherited it.
class SweepLock {
 public:
  /// Nothing if another process holds it.
  static std::optional<SweepLock> of_sweep(const store::Store& store, const SweepPlan& plan);
  static std::optional<SweepLock> of_point(const store::Store& store, const SweepPlan& plan,
                                           std::size_t point);
  ~SweepLock();
  SweepLock(SweepLock&& other) noexcept;
  SweepLock& operator=(SweepLock&& other) noexcept;

  int descriptor() const { return descriptor_; }

 private:
  static std::optional<SweepLock> take(const std::filesystem::path& file);
  explicit SweepLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace flor::cli
