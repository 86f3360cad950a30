// Writes the rows (values, updates and progress) of a run to its journal. If the store fails they
// wait; what cannot wait becomes a gap of the run.
#pragma once

#include "base/outage.h"
#include "record/outbox.h"

#include <flor/store/store.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace flor::detail {

/// Writes the rows of one run, and reports when the store fails and when it works again. Only the
/// functions that say so throw. To be used by the background thread, unless noted otherwise.
class RowWriter {
 public:
  using Part = StorageHealth::Part;
  using Write = std::function<bool(store::Catalog&)>;
  using End = std::function<void(store::Catalog&, const store::UnwrittenRest&)>;
  struct Sources {
    std::function<void()> flush_journal;  ///< adds the values logged so far
    /// Stores the content of a logged value, and returns its reference.
    std::function<std::string(const LoggedContent&)> write_content;
  };

  /// To be constructed by the training thread. `store` becomes null when the run has ended; it and
  /// `run` must outlive this object.
  RowWriter(const std::shared_ptr<store::Store>& store, const store::Run& run, Sources sources)
      : store_(store), run_(run), sources_(std::move(sources)) {}

  // For any thread.
  StorageHealth& health() { return health_; }
  const StorageHealth& health() const { return health_; }
  ProgressOutbox& progress() { return progress_; }
  /// Whether the calling thread is the training thread.
  bool is_training() const { return std::this_thread::get_id() == training_; }
  /// Notes that a write has failed.
  void trouble(Part part, std::string_view why) noexcept;
  /// Notes that a write has succeeded.
  void works(Part part) noexcept;
  /// Notes that the epoch is incomplete.
  void miss(std::int64_t epoch, bool values = false) noexcept;

  /// Writes the update as soon as the store works. Updates are written in order.
  void update(UpdateOutbox::Update change) noexcept;
  /// Calls `write` if an attempt is worthwhile. `write` returns whether it wrote anything.
  void write(const Write& write) noexcept;

  /// Adds a value. If `content` is not null, the value becomes the reference of that content.
  void add(store::Value value, LoggedContent* content);
  void flush_values() noexcept;
  bool has_values() const { return !values_.empty(); }  ///< true if values wait
  /// Tries to make all that was logged before durable, and returns whether it is. `must`: tries
  /// even if the store failed a moment ago.
  bool make_durable(bool must) noexcept;
  /// Writes the progress, and before it the values that were logged until then, so that an epoch
  /// that counts as complete has its values. If these cannot be written, the progress waits, too.
  /// Returns true if something was written. Throws what the catalog throws.
  bool write_progress(store::Catalog& catalog);
  /// Called before a checkpoint, to which a killed run goes back: writes the gaps, the progress
  /// that waited in an outage, and with `and_progress` all other progress. Throws what the catalog
  /// throws.
  void write_before_checkpoint(bool and_progress);
  void flush_progress() noexcept;
  void flush_logged() noexcept;  ///< adds the values logged so far

  /// Begins the end of the run: from then on every write is tried at once, and none is left for
  /// later. Throws what the store throws.
  void begin_end(bool says_in_journal);
  bool is_ending() const { return ending_; }
  /// Called after the last attempt: what still waits is counted as missing.
  void give_up_rest() noexcept;
  /// Writes the end of the run in one transaction with everything that waits, so that a run that
  /// counts as finished lacks nothing. If only the values prevent this, they are given up, with a
  /// message. Throws what the catalog throws.
  void write_end(const End& end);

 private:
  const std::shared_ptr<store::Store>& store_;
  const store::Run& run_;
  Sources sources_;
  std::thread::id training_ = std::this_thread::get_id();
  StorageHealth health_{[] { return recorder_clock(); }};
  ProgressOutbox progress_;
  ValueOutbox values_;
  UpdateOutbox updates_;
  std::size_t next_flush_ = ValueOutbox::kAtOnce;  // how many values wait before the next flush
  bool ending_ = false;
};

}  // namespace flor::detail
