// Writes events of a recording to its journal only. They are entered into the index by the next
// process that opens the store, or when the run ends.
#pragma once

#include "database/database.h"
#include "journal/events.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {

/// True if this process writes the run's events to its journal only (`Catalog::say_in_journal`).
bool says_in_journal(const Database& database, std::int64_t run);

/// True if this process has written events to journals that the index lacks.
bool is_ahead(const Database& database);
/// Notes that the index has those events. Call it after the commit.
void index_has_it(Database& database);

/// Returns this process's journal for the run; a new one if the disk has failed with the previous
/// one. `is_known(journal)` tells whether the index has events of the journal; `begin(journal)`
/// returns its first event.
RunJournal& journal_of(Database& database, std::int64_t run, const std::string& key,
                       const std::function<bool(const RunJournal&)>& is_known,
                       const std::function<std::vector<std::byte>(const RunJournal&)>& begin);

/// A change of a run that is written to its journal only. Holds the database's mutex while it
/// exists. The change is durable when `commit` returns, and without `commit` nothing is written.
class JournalWriting {
 public:
  JournalWriting(Database& database, std::int64_t run);
  ~JournalWriting();
  JournalWriting(const JournalWriting&) = delete;
  JournalWriting& operator=(const JournalWriting&) = delete;

  template <typename Event>
  void note(const Event& event) {
    enter(Event::kKind, encode_event(at_us_, event));
  }
  void add_values(std::span<const Value> values);
  void add_rest(const UnwrittenRest& rest);
  /// See Writing::knows_layout.
  bool knows_layout(const Digest& layout);

  void commit() {
    bool uncertain = false;
    commit(uncertain);
  }
  /// `uncertain`: set if other processes may have seen the change although `commit` throws.
  void commit(bool& uncertain);

 private:
  void enter(EventKind kind, std::vector<std::byte> payload);

  std::lock_guard<std::recursive_mutex> lock_;
  Database& database_;
  std::int64_t run_;
  SaidRun& said_;
  std::int64_t at_us_;
  std::vector<std::pair<EventKind, std::vector<std::byte>>> noted_;
  bool committed_ = false;
};

}  // namespace flor::store
