#include "index/writing.h"

#include "database/rest_rows.h"
#include "index/announcements.h"
#include "index/journal_writing.h"
#include "index/refresh.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace flor::store {

namespace {

/// The number of journals kept open is limited, because each takes a file descriptor, of which a
/// process may have only a thousand. After a run's journal was closed, its next event begins a new
/// one.
constexpr std::size_t kOpenJournalsMax = 32;

}  // namespace

Writing::Writing(Database& database)
    : lock_(database.mutex),
      database_(database),
      home_(database.paths, database.files, database.connection.patience()),
      // The transaction need not be durable by itself: the journal is, and restores what a power
      // loss removes from the index.
      transaction_(database.connection, Kept::journals),
      was_ahead_(is_ahead(database)) {
  // The index must have all earlier events before the journal continues.
  if (was_ahead_ || database.paths.shared) enter_behind(database);
}

Writing::~Writing() {
  if (committed_) return;
  for (const auto& [run, events] : noted_) {
    const auto open = database_.journals.find(run);
    if (open != database_.journals.end()) open->second->take_back();
  }
}

/// Returns a time later than all earlier events of the run, even if the clock was set back.
std::int64_t Writing::time_of(std::int64_t run) {
  std::int64_t& time = times_[run];
  if (time == 0) {
    const auto last =
        database_.connection("SELECT coalesce(max(last_us), 0) FROM journal WHERE run = ?1", run);
    last->step();
    time = std::max(now_us(), last->integer(0) + 1);
    if (const auto said = database_.said.find(run); said != database_.said.end())
      time = std::max(time, said->second.last_us + 1);
  }
  return time;
}

void Writing::note_drop(std::int64_t run) {
  note(run, DropEvent{});
  dropped_ = run;
}

void Writing::enter(std::int64_t run, EventKind kind, std::vector<std::byte> payload) {
  noted_[run].push_back({kind, std::move(payload)});
}

void Writing::note_values(std::int64_t run, EventKind kind, std::span<const Value> values) {
  // The values of one replay are adjacent, so each stretch becomes its own events.
  for (auto first = values.begin(); first != values.end();) {
    const std::int64_t replay = first->replay;
    const auto last = std::find_if(first, values.end(),
                                   [&](const Value& value) { return value.replay != replay; });
    const std::string key = replay == 0 ? std::string() : replay_key(connection(), replay);
    for (const ValuesEvent& event : encode_values(std::span(first, last), key)) {
      enter(run, kind, encode_event(time_of(run), event));
    }
    first = last;
  }
}

void Writing::add_values(std::int64_t run, std::span<const Value> values) {
  insert_values(database_, run, values);
  note_values(run, EventKind::values, values);
}

void Writing::add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                           std::span<const ReplayedPart> parts) {
  apply_replayed(database_, run, replay, values, parts);
  note_values(run, EventKind::found, values);
  note(run, PartsEvent{replay_key(connection(), replay), {parts.begin(), parts.end()}});
}

void Writing::add_rest(std::int64_t run, const UnwrittenRest& rest) {
  if (!rest.values.empty()) add_values(run, rest.values);
  if (!rest.progress.empty()) add(run, ProgressEvent{rest.progress});
  if (rest.gaps) add(run, GapsEvent{*rest.gaps});
}

/// Throws if this run's journals were removed or belong to a dropped run, on a shared home. Another
/// machine may have dropped the run with its journals, which this index does not know, and a new
/// journal would not say how the run began. A process that was killed while dropping a run may have
/// left journals, whose last event would drop the run again.
void Writing::require_own_journals(std::int64_t run, const std::string& key) {
  if (!database_.paths.shared || database_.journals.contains(run)) return;
  const bool knows = connection()("SELECT 1 FROM journal WHERE run = ?1", run)->step();
  const auto has_events = [&](const FoundJournal& found) {
    std::error_code error;
    return length_of(database_.paths, found.path, error) > kFileHeaderBytes;
  };
  const bool has = std::ranges::any_of(find_journals(database_.paths, key), has_events);
  if (knows == has) return;
  if (knows) {
    throw Busy(fmt::format("run {} was removed on another machine meanwhile: run the command again",
                           key.substr(0, 8)));
  }
  throw Error(
      fmt::format("{} has journals of a run that was removed: once they are an hour old, run "
                  "`flor gc`, which deletes them, then this command again",
                  database_.paths.run(key).string()));
}

RunJournal& Writing::journal(std::int64_t run) {
  std::string key;
  {
    const auto row = connection()("SELECT key FROM run WHERE id = ?1", run);
    if (!row->step()) throw NotFound(fmt::format("there is no run {} in the catalog", run));
    key = row->text(0);
  }
  require_own_journals(run, key);
  return journal_of(
      database_, run, key,
      [&](const RunJournal& known) {
        return has_position(connection(), known.run(), known.number());
      },
      [&](const RunJournal& opened) {
        WriterEvent writer = this_writer(key, opened.number());
        if (const auto began = began_.find(run); began != began_.end())
          writer.began_us = began->second;
        return encode_event(time_of(run), writer);
      });
}

void Writing::begin_journal(std::int64_t run, std::int64_t began_us) {
  database_.journals.erase(run);
  began_[run] = began_us;
}

bool Writing::knows_layout(std::int64_t run, const Digest& layout) {
  noted_[run];  // lets the destructor forget the layout even if no event follows
  return journal(run).knows_layout(layout);
}

/// Enters new journals into the index. An index that a power loss has set back finds later events
/// of a journal by its position. So the first position must be durable, and the journal stays
/// announced until it is.
void Writing::register_journals() noexcept {
  try {
    const auto is_new = [&](const auto& entry) {
      return database_.journals.at(entry.first)->is_announced();
    };
    // A process that reads another index finds the journal only by its announcement.
    if (std::ranges::none_of(noted_, is_new) || database_.may_be_replaced()) return;
    if (database_.has_log) {
      Transaction lasting(connection());
      for (const auto& entry : noted_) {
        connection()("UPDATE journal SET closed = 0 WHERE run = ?1", entry.first)->run();
      }
      lasting.commit();
    }
    for (const auto& entry : noted_) database_.journals.at(entry.first)->withdraw_announcement();
  } catch (const std::exception&) {
    // The change itself is made, and the journal stays announced.
  }
}

/// Closes surplus journals, first those that this change did not write.
void Writing::close_journals() noexcept {
  auto& journals = database_.journals;
  const auto close = [&](bool noted) {
    for (auto each = journals.begin();
         each != journals.end() && journals.size() > kOpenJournalsMax;) {
      each = noted_.contains(each->first) == noted ? journals.erase(each) : std::next(each);
    }
  };
  close(false);
  close(true);
}

void Writing::commit(bool& uncertain) {
  for (auto& [run, events] : noted_) {
    RunJournal& to = journal(run);
    for (const Noted& event : events) to.append(event.kind, event.payload);
    to.flush();
    uncertain = true;
    to.sync();
    put_position(connection(), run, to.number(), {to.bytes(), to.frames()}, times_.at(run));
  }
  if (dropped_ != 0) apply(database_, dropped_, DropEvent{});
  uncertain = true;
  transaction_.commit();
  // From here on the index has the events, so the journals must keep them.
  committed_ = true;
  if (was_ahead_) index_has_it(database_);
  for (const auto& [run, events] : noted_) database_.journals.find(run)->second->keep();
  register_journals();
  close_journals();
}

void prepare_to_move(Database& database) {
  database.renew_mark();
  if (!database.paths.shared) return;
  Writing(database).commit();
  std::error_code error;
  if (!std::filesystem::exists(damage_mark(database.paths.catalog()), error)) return;
  std::vector<std::filesystem::path> unlisted;
  find_runs(database.paths, &unlisted);
  if (!unlisted.empty()) {  // an index that is made again lacks the same
    throw Error(fmt::format("content is moved or removed only once all runs can be read: {}",
                            cannot_list(unlisted.front())));
  }
  throw Busy(
      fmt::format("{} must be made again before content is moved or removed: run the "
                  "command again, which makes it",
                  database.connection.naming().name));
}

void drop_run(Database& database, std::int64_t run, const std::function<void(Connection&)>& also) {
  std::string key;
  {
    Writing writing(database);
    const auto row = writing.connection()("SELECT key FROM run WHERE id = ?1", run);
    if (!row->step()) return;
    key = row->text(0);
    if (also) also(writing.connection());
    writing.note_drop(run);
    writing.commit();
  }
  database.journals.erase(run);
  database.said.erase(run);
  // A new index may be under construction from journals read earlier. It must find the drop event,
  // so the journals stay.
  if (database.may_be_replaced()) return;
  database.renew_mark();
  remove_run_directory(database.paths, key);
  if (database.paths.shared) remove_announcements(database.paths, key);
}

}  // namespace flor::store
