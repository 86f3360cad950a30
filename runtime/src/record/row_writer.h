// Values, updates and progress of a run on their way to its journal. They wait where the store
// fails; a gap of the run is where they could not wait.
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

/// Writes the rows of one run, and says when the store fails and when it works again. Nothing but
/// `write_end` throws. Belongs to the background thread, but where it says otherwise.
class RowWriter {
 public:
  using Part = StorageHealth::Part;
  using Write = std::function<bool(store::Catalog&)>;
  using End = std::function<void(store::Catalog&, const store::UnwrittenRest&)>;
  struct Sources {
    std::function<void()> flush_journal;  ///< adds the values that were logged so far
    /// Stores the content of a logged value, and returns its reference.
    std::function<std::string(const LoggedContent&)> write_content;
  };

  /// Constructed by the thread of the training. `store` becomes null when the run has ended; both
  /// outlive this object.
  RowWriter(const std::shared_ptr<store::Store>& store, const store::Run& run, Sources sources)
      : store_(store), run_(run), sources_(std::move(sources)) {}

  // Any thread.
  StorageHealth& health() { return health_; }
  const StorageHealth& health() const { return health_; }
  ProgressOutbox& progress() { return progress_; }
  /// Whether the thread of the training calls.
  bool is_training() const { return std::this_thread::get_id() == training_; }
  /// A write has failed.
  void trouble(Part part, std::string_view why) noexcept;
  /// A write has succeeded.
  void works(Part part) noexcept;
  /// The epoch lacks something.
  void miss(std::int64_t epoch, bool values = false) noexcept;

  /// Writes the update when the store works, in the order of updates.
  void update(UpdateOutbox::Update change) noexcept;
  /// Calls `write`, which says whether it wrote anything, if that is worthwhile now.
  void write(const Write& write) noexcept;

  /// Adds a value. Where `content` is not null the value becomes the reference of that.
  void add(store::Value value, LoggedContent* content);
  void flush_values() noexcept;
  bool has_values() const { return !values_.empty(); }  ///< that wait
  /// True when all that was logged before is durable, if that is possible now. `must`: tried
  /// although the store did not work a moment ago.
  bool make_durable(bool must) noexcept;
  /// Writes the values that were logged until then first, or the progress waits with them: an epoch
  /// that counts as complete has its values. True: something was written. Throws what the catalog
  /// throws.
  bool write_progress(store::Catalog& catalog);
  /// The gaps, the progress that an outage kept waiting, and `and_progress`, before a checkpoint to
  /// which a killed run goes back. Throws what the catalog throws.
  void write_before_checkpoint(bool and_progress);
  void flush_progress() noexcept;
  void flush_logged() noexcept;  ///< adds the values that were logged so far

  /// From now on everything is tried, and nothing later. Throws what the store throws.
  void begin_end(bool says_in_journal);
  bool is_ending() const { return ending_; }
  /// After the last try: what waits for its content, or to be updated, is missing.
  void give_up_rest() noexcept;
  /// Writes the end of the run, in one transaction with the rest: without that a run never counts
  /// as finished. Values are given up, with a message, if they alone prevent that. Throws what the
  /// catalog throws.
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
  std::size_t next_flush_ = ValueOutbox::kAtOnce;  // when so many values wait
  bool ending_ = false;
};

}  // namespace flor::detail
