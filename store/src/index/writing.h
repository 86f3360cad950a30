// A change of the facts about runs, entered into the index and into the journals of the runs, both
// or neither. All changes of a run are made this way, because the index must be rebuildable from
// the journals.
#pragma once

#include "database/database.h"
#include "file/shared_home.h"
#include "index/apply.h"
#include "index/journal_writing.h"
#include "journal/events.h"

#include <flor/store/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

/// Holds the database's mutex and write lock from its construction on, and the lock of a shared
/// home. The constructor first enters events that this process has written to journals only, and
/// events of other machines. The change is durable when `commit` returns; without `commit` nothing
/// is changed.
class Writing {
 public:
  explicit Writing(Database& database);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  Connection& connection() { return database_.connection; }

  /// Applies the event to the index, and adds it to the run's journal.
  template <typename Event>
  void add(std::int64_t run, const Event& event) {
    apply(database_, run, event);
    note(run, event);
  }
  /// Adds the event to the journal only; the caller has changed the index itself.
  template <typename Event>
  void note(std::int64_t run, const Event& event) {
    enter(run, Event::kKind, encode_event(time_of(run), event));
  }
  /// Notes that the run is removed. `commit` then deletes its journals.
  void note_drop(std::int64_t run);
  /// Begins a new journal for the next events; its first event says when the run began.
  void begin_journal(std::int64_t run, std::int64_t began_us);
  void add_values(std::int64_t run, std::span<const Value> values);
  /// Adds values that one replay found, and the parts of the run in which it found them.
  void add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                    std::span<const ReplayedPart> parts);
  void add_rest(std::int64_t run, const UnwrittenRest& rest);
  /// True if this process's journal of the run has the layout, or will have it after `commit`.
  bool knows_layout(std::int64_t run, const Digest& layout);

  /// Throws Error if the disk is full or fails.
  void commit() {
    bool uncertain = false;
    commit(uncertain);
  }
  /// `uncertain`: set before the first step after which the change may take effect although
  /// `commit` throws.
  void commit(bool& uncertain);

 private:
  struct Noted {
    EventKind kind;
    std::vector<std::byte> payload;
  };
  std::int64_t time_of(std::int64_t run);
  void enter(std::int64_t run, EventKind kind, std::vector<std::byte> payload);
  void note_values(std::int64_t run, EventKind kind, std::span<const Value> values);
  RunJournal& journal(std::int64_t run);
  void require_own_journals(std::int64_t run, const std::string& key);
  void register_journals() noexcept;
  void close_journals() noexcept;

  std::lock_guard<std::recursive_mutex> lock_;
  Database& database_;
  HomeLock home_;
  Transaction transaction_;
  std::map<std::int64_t, std::vector<Noted>> noted_;
  std::map<std::int64_t, std::int64_t> times_;
  std::map<std::int64_t, std::int64_t> began_;
  std::int64_t dropped_ = 0;
  bool was_ahead_;  ///< at construction, this process had written events that the index lacked
  bool committed_ = false;
};

/// Writes one event, which is durable when it returns: to the journal, and also to the index unless
/// the run `says_in_journal`.
template <typename Event>
void write(Database& database, std::int64_t run, const Event& event) {
  if (says_in_journal(database, run)) {
    JournalWriting writing(database, run);
    writing.note(event);
    return writing.commit();
  }
  Writing writing(database);
  writing.add(run, event);
  writing.commit();
}

/// Makes the indexes of other machines outdated, and then enters the events that they have added
/// until now: these may refer to records that only their indexes list. From then on no other
/// machine refers to records that it has not stored itself. Call it before removing or moving
/// content, and before asking the index which content is there. Throws Busy if this index must be
/// made again.
void prepare_to_move(Database& database);

/// Removes the run with all facts about it, and its journals. `also` is called in the same
/// transaction; if it throws, nothing is removed.
void drop_run(Database& database, std::int64_t run,
              const std::function<void(Connection&)>& also = {});

/// Writes `rest`, and then the last event of a run, also into the index. If the index cannot be
/// written at the moment, the next command enters them from the journal.
template <typename Event>
void write_last(Database& database, std::int64_t run, const Event& event,
                const UnwrittenRest& rest) {
  try {
    Writing writing(database);
    writing.add_rest(run, rest);
    writing.add(run, event);
    return writing.commit();
  } catch (const Error& error) {
    const bool in_the_way =
        error.status() == ExitStatus::failed || error.status() == ExitStatus::busy;
    if (!in_the_way || !says_in_journal(database, run)) throw;
  }
  JournalWriting writing(database, run);
  writing.add_rest(rest);
  writing.note(event);
  writing.commit();
}

}  // namespace flor::store
