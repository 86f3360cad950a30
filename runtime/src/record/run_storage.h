// Everything that a recording writes about its run, and the ways in which the run ends in the
// store.
#pragma once

#include "machine/machine_sampler.h"
#include "printed/printed_output.h"
#include "record/checkpoint_store.h"
#include "record/group_member.h"
#include "record/row_writer.h"
#include "record/saved_checkpoints.h"
#include "session/outputs.h"

#include <flor/store/store.h>
#include <flor/store/used_files.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Writes one run: its rows, checkpoints and printed text, and its end. To be used by the
/// background thread, unless noted otherwise.
class RunStorage {
 public:
  struct Parts {
    std::shared_ptr<store::Store>& store;  ///< becomes null when the run has ended
    const store::Run& run;
    std::shared_ptr<store::BackgroundPriority> priority;
    GroupMember& group;
    std::function<void()> flush_journal;  ///< adds the values logged so far
    /// Returns the outputs of the program as they are at the time of the call.
    std::function<std::vector<store::UsedFile>()> written_files;
    /// Returns the epoch of the program; nullopt while a resumed program is on its way to the point
    /// where it continues.
    std::function<std::optional<std::int64_t>()> epoch = {};
  };
  explicit RunStorage(Parts parts);

  RowWriter& rows() { return rows_; }
  CheckpointStore& checkpoints() { return checkpoints_; }
  SavedCheckpoints& saved() { return saved_; }

  // To be called before the background thread exists.
  void hold(store::RunLock lock) { lock_ = std::move(lock); }
  /// For a resumed run: takes over its gaps, its saved checkpoints and, if `with_steps`, its
  /// checkpoints inside iterations.
  void take_over(std::map<std::string, store::SavedCheckpoint> saved, bool with_steps);
  /// Called when the run has begun. `repository` is the directory in which files that the program
  /// writes are not recorded as sources; empty without git. Throws what the store throws.
  void open(const std::filesystem::path& repository);
  /// Keeps up to `limit` bytes of what the program prints from now on: to files, or everywhere if
  /// the user asked for it. If that is impossible, a line on stderr says why.
  void keep_printed(std::uint64_t limit, bool is_asked);
  /// Samples the machine from now on, with a pause of `seconds`, for a small part of the share of
  /// the time that recording may take. 0 seconds: takes no samples.
  void sample_machine(double seconds, double epsilon);
  /// Null if nothing is kept. For the training thread.
  PrintedOutput* printed() { return printed_.get(); }
  /// To be called in a child of fork(). Async-signal-safe.
  void forget_in_child() noexcept;

  // These do not throw.
  void flush_progress() noexcept;
  void write_waiting() noexcept;  ///< values, progress and checkpoints

  /// Called when the run has ended. Calls `report` after writing the end and before closing the
  /// store.
  void end(bool failed, const std::string& message, const std::function<void()>& report) noexcept;
  /// Whether checkpoints inside iterations are kept, so that the run can be resumed at them.
  enum class Steps { kept, dropped };
  /// Leaves the run as one that can be resumed, with this reason. Throws if that cannot be
  /// recorded.
  void interrupt(const std::string& why, Steps steps);
  /// Removes the run, which should not have begun.
  void drop() noexcept;
  void close() noexcept;

  /// Marks a run as failed after all: the recording had ended in order, and then the program ended
  /// with an error. May be called from any thread, when the store is closed.
  void fail_after_end(std::string_view why) noexcept;

  // For checkpoints that the program asks for.
  void set_strategy(const store::CheckpointStrategy& strategy);
  void enter(const store::SavedCheckpoint& saved);
  void enter(const store::UsedFile& file);
  void score(std::string_view name, const std::map<std::string, double>& scores);
  /// The best stored checkpoint, or the newest. To be called by the training thread while the
  /// background is idle.
  std::optional<store::FoundCheckpoint> find(bool best);

 private:
  void flush_outputs() noexcept;
  void flush_printed() noexcept;
  void flush_samples() noexcept;
  /// Tries everything once more at the end. What still cannot be written becomes a gap.
  void write_rest() noexcept;

  Parts parts_;
  std::filesystem::path home_;
  std::optional<store::RunLock> lock_;
  std::optional<RecordedOutputs> outputs_;  // null without git
  RowWriter rows_;
  SavedCheckpoints saved_;
  CheckpointStore checkpoints_;
  std::unique_ptr<PrintedOutput> printed_;
  std::unique_ptr<MachineSampler> machine_;  // null: the machine is not sampled
  bool says_in_journal_ = false;
  // False if the catalog's index could not be updated when the program last asked for a checkpoint.
  bool index_follows_ = true;
  bool end_is_written_ = false;
};

}  // namespace flor::detail
