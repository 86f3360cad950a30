// The plan of a sweep: its program and all of its points. It is written before the first point is
// recorded, so that an interrupted sweep can be continued.
//
//   HOME/sweeps/NAME/plan.json   written once, atomically
//   HOME/sweeps/NAME/lock        held by the process that runs the sweep
//   HOME/sweeps/NAME/N.lock      held by the process that records point N, and by its program
//   HOME/sweeps/NAME/N.log       output of the recordings of point N
//
// The states of the points are not stored there: they follow from the records of their runs.
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
  std::string experiment;           ///< under which its runs are recorded
  std::string from;                 ///< RUN[@EPOCH] from which its runs are forked; may be empty
  std::vector<std::string> before;  ///< the program and the arguments that all points have, before
                                    ///< --kwargs
  std::vector<std::string> after;   ///< arguments after --kwargs
  std::filesystem::path directory;  ///< working directory of the recordings
  std::int64_t made_us = 0;
  std::vector<SweepPoint> points;

  /// The command line that begins a new run of the point.
  std::vector<std::string> beginning(std::size_t point) const;
  /// The command line that continues the run with this key.
  std::vector<std::string> continuing(std::size_t point, std::string_view run) const;
  /// Whether both plans record the same points with the same command.
  bool is_same(const SweepPlan& other) const;
};

/// A sweep as described on the command line.
struct SweepWords {
  std::string name;                  ///< empty: a name is made from the experiment and all that
                                     ///< follows
  std::vector<std::string> program;  ///< the program with its arguments and --kwargs
  std::optional<SweepAxis> rows;     ///< the points in a file, if there is one
  std::optional<std::uint64_t> random;
  std::uint64_t seed = 0;
};
/// Throws UsageError for wrong words, NotFound if there is no such program.
SweepPlan make_plan(const SweepWords& words, const std::filesystem::path& directory,
                    std::int64_t now_us);

/// The directory of the sweep in the store's home.
std::filesystem::path sweep_directory(const store::Store& store, std::string_view name);
std::filesystem::path point_log(const store::Store& store, const SweepPlan& plan,
                                std::size_t point);

void write_plan(const store::Store& store, const SweepPlan& plan);
/// Returns nullopt if there is no such sweep. Throws Error if another user could have written the
/// plan, since its program is executed; Damaged if the file is not a plan.
std::optional<SweepPlan> read_plan(const store::Store& store, std::string_view name);
/// The names of all sweeps, sorted.
std::vector<std::string> sweep_names(const store::Store& store);

/// A lock of a sweep or of one of its points. It is released by the destructor, or by the end of
/// the last process that has inherited it.
class SweepLock {
 public:
  /// These return nullopt if another process holds the lock.
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
