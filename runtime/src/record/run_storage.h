// Everything that a recording writes of its run, and how the run ends in the store.
#pragma once

#include "machine/machine_sampler.h"
#include "printed/printed_output.h"
#include "record/checkpoint_store.h"
#include "record/group_member.h"
#include "record/row_writer.h"
#include "record/saved_checkpoints.h"
#include "session/outputs.h"

#include <flor/store/store.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// Belongs to the background thread, but where it says otherwise.
class RunStorage {
 public:
  struct Parts {
    std::shared_ptr<store::Store>& store;  ///< becomes null when the run has ended
    const store::Run& run;
    std::shared_ptr<store::BackgroundPriority> priority;
    GroupMember& group;
    std::function<void()> flush_journal;  ///< adds the values that were logged so far
    /// Where the program is; nothing while it only goes to where it continues.
    std::function<std::optional<std::int64_t>()> epoch = {};
  };
  explicit RunStorage(Parts parts);

  RowWriter& rows() { return rows_; }
  CheckpointStore& checkpoints() { return checkpoints_; }
  SavedCheckpoints& saved() { return saved_; }

  // Before there is a background thread.
  void hold(store::RunLock lock) { lock_ = std::move(lock); }
  /// For a continued run: takes over its gaps, its saved checkpoints and, `with_steps`, its steps.
  void take_over(std::map<std::string, store::SavedCheckpoint> saved, bool with_steps);
  /// The run has begun. `repository`: where files that the program writes are no sources; empty
  /// without git. Throws what the store throws.
  void open(const std::filesystem::path& repository);
  /// From now on so many bytes are kept of what the program prints. A line says why not, if so.
  void keep_printed(std::uint64_t limit);
  /// From now on the machine is sampled, with a pause of so many seconds, for a small part of the
  /// share of the time that recording may take. 0 seconds: it is not.
  void sample_machine(double seconds, double epsilon);
  /// Null: nothing is kept. The thread of the training.
  PrintedOutput* printed() { return printed_.get(); }
  /// In a child of fork(). Async-signal-safe.
  void forget_in_child() noexcept;

  // Nothing of this throws.
  void flush_progress() noexcept;
  void write_waiting() noexcept;  ///< values, progress and checkpoints

  /// The run has ended. `report`: called between the end and the closing of the store.
  void end(bool failed, const std::string& message, const std::function<void()>& report) noexcept;
  /// Whether checkpoints inside iterations stay, so that the run is resumed there.
  enum class Steps { kept, dropped };
  /// The run is left as one that can be resumed, for this reason. Throws where that could not be
  /// recorded.
  void interrupt(const std::string& why, Steps steps);
  /// The run should not have begun: removes it.
  void drop() noexcept;
  void close() noexcept;

  /// The program ended in order in here, and with an error after that. Any thread, when the store
  /// is closed.
  void fail_after_end(std::string_view why) noexcept;

  // Checkpoints that the program asks for.
  void set_strategy(const store::CheckpointStrategy& strategy);
  void enter(const store::SavedCheckpoint& saved);
  void score(std::string_view name, const std::map<std::string, double>& scores);
  /// The best stored checkpoint, or the newest. On the thread of the training, while the background
  /// is idle.
  std::optional<store::FoundCheckpoint> find(bool best);

 private:
  void flush_outputs() noexcept;
  void flush_printed() noexcept;
  void flush_samples() noexcept;
  /// Tries everything once more at the end; what cannot be written then is a gap.
  void write_rest() noexcept;

  Parts parts_;
  std::filesystem::path home_;
  std::optional<store::RunLock> lock_;
  std::optional<RecordedOutputs> outputs_;  // none without git
  RowWriter rows_;
  SavedCheckpoints saved_;
  CheckpointStore checkpoints_;
  std::unique_ptr<PrintedOutput> printed_;
  std::unique_ptr<MachineSampler> machine_;  // null: the machine is not sampled
  bool says_in_journal_ = false;
  bool index_follows_ = true;  // when the program asked for a checkpoint last
  bool end_is_written_ = false;
};

}  // namespace flor::detail
