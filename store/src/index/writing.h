// A change of what is known of runs: entered into the index and into the journals of the runs, both
// or neither. Every change of a run's facts goes this way; the journals are the truth.
#pragma once

#include "database/database.h"
#include "index/apply.h"
#include "index/journal_writing.h"
#include "journal/events.h"

#include <flor/store/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

/// Holds the database's mutex and its write lock from its construction on, which enters what this
/// process has said in journals alone. Without `commit` nothing
/// has happened. When `commit` returns, the change is durable.
class Writing {
 public:
  explicit Writing(Database& database);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  Connection& connection() { return database_.connection; }

  /// The event happens to the run.
  template <typename Event>
  void add(std::int64_t run, const Event& event) {
    apply(database_, run, event);
    note(run, event);
  }
  /// Only says so: the caller has changed the index itself.
  template <typename Event>
  void note(std::int64_t run, const Event& event) {
    enter(run, Event::kKind, encode_event(time_of(run), event));
  }
  /// The run goes, with all that is known of it.
  void note_drop(std::int64_t run);
  /// What follows goes into a new journal, which says when the run began.
  void begin_journal(std::int64_t run, std::int64_t began_us);
  void add_values(std::int64_t run, std::span<const Value> values);
  /// Of one replay, with the parts in which they were found.
  void add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                    std::span<const ReplayedPart> parts);
  void add_rest(std::int64_t run, const UnwrittenRest& rest);
  /// True if the run's journal of this process has the layout, or is about to get it.
  bool knows_layout(std::int64_t run, const Digest& layout);

  /// Throws Error where the disk has no room, or refuses.
  void commit() {
    bool uncertain = false;
    commit(uncertain);
  }
  /// `uncertain`: set before the first step after which a crash may bring the change to life though
  /// this throws.
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
  void register_journals() noexcept;
  void close_journals() noexcept;

  std::lock_guard<std::recursive_mutex> lock_;
  Database& database_;
  Transaction transaction_;
  std::map<std::int64_t, std::vector<Noted>> noted_;
  std::map<std::int64_t, std::int64_t> times_;
  std::map<std::int64_t, std::int64_t> began_;
  std::int64_t dropped_ = 0;
  bool was_ahead_;  ///< this process had said what the index did not have
  bool committed_ = false;
};

/// One event, durable when it returns: in the journal alone, or in the index, too.
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

/// Writes the last event of a run, after all that could not be written before. The index has the
/// whole run then; if it cannot be written now, the next command enters the rest.
template <typename Event>
void write_last(Database& database, std::int64_t run, const Event& event,
                const UnwrittenRest& rest) {
  try {
    Writing writing(database);
    writing.add_rest(run, rest);
    writing.add(run, event);
    return writing.commit();
  } catch (const Error& error) {
    const bool in_the_way = error.status() == ExitStatus::failed || error.status() == ExitStatus::busy;
    if (!in_the_way || !says_in_journal(database, run)) throw;
  }
  JournalWriting writing(database, run);
  writing.add_rest(rest);
  writing.note(event);
  writing.commit();
}

}  // namespace flor::store
