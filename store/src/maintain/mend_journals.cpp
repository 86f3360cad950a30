#include "maintain/mend_journals.h"

#include "file/home_files.h"
#include "index/copies/run_image.h"
#include "index/refresh.h"
#include "index/values/logged_evaluations.h"
#include "index/writing.h"
#include "journal/evaluation_log.h"
#include "journal/journal_copy.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"
#include "queue/queue_file.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

using Lock = std::lock_guard<std::recursive_mutex>;

class JournalMender {
 public:
  JournalMender(Database& database, RepairReport& report) : database_(database), report_(report) {}

  void run() {
    // If this index was replaced, a newer one knows more.
    if (database_.is_replaced()) return;
    std::set<std::string> keys = known_runs();
    for (const std::string& key : find_runs(database_.paths)) keys.insert(key);
    for (const std::string& key : keys) mend(key);
    for (const fs::path& log : find_evaluation_logs(database_.paths)) mend_log(log);
  }

 private:
  struct Condition {
    bool is_damaged = false;    ///< some of its bytes are not events, or are missing
    bool has_lost = false;      ///< some of its events are lost
    bool is_senseless = false;  ///< nothing in it can be read
  };

  std::set<std::string> known_runs() {
    const Lock lock(database_.mutex);
    std::set<std::string> keys;
    const auto rows = database_.connection("SELECT key FROM run");
    while (rows->step()) keys.insert(rows->text(0));
    return keys;
  }

  Condition examine(const fs::path& journal, const KnownJournal& known) const {
    if (is_written(database_.files, journal)) return {};
    try {
      JournalReader reader(database_.files, journal, {});
      while (reader.next()) continue;
      const bool has_no_end = lacks_end(reader, journal, known);
      return {.is_damaged = !reader.damage().empty() || has_no_end,
              .has_lost = reader.has_lost_events() || has_no_end};
    } catch (const NewerFormat&) {
      return {};
    } catch (const Damaged&) {
      return {.is_damaged = true, .has_lost = true, .is_senseless = true};
    } catch (const Error&) {
      return {};  // It cannot be accessed, which the check reports.
    }
  }

  void mend(const std::string& run) {
    KnownJournals known = known_journals(database_, run);
    std::vector<std::pair<FoundJournal, Condition>> damaged;
    bool has_lost = false;
    for (const FoundJournal& found : find_journals(database_.paths, run)) {
      const Condition condition = examine(found.path, known[found.number]);
      known.erase(found.number);
      if (!condition.is_damaged) {
        mend_copy(found.path);
        continue;
      }
      damaged.emplace_back(found, condition);
      has_lost = has_lost || condition.has_lost;
    }
    has_lost = has_lost || !known.empty();  // their files are gone
    if (has_lost && !write_anew(run)) return;
    for (const auto& [journal, condition] : damaged) mend(run, journal, condition);
    for (const auto& [number, gone] : known) forget(run, number);
  }

  /// Writes everything that is known about the run to this process's journal. Returns false if
  /// another journal of the run cannot be read at the moment, because its events would become void.
  bool write_anew(const std::string& key) {
    Writing writing(database_);
    Connection& connection = writing.connection();
    RefreshReport sound;
    enter_runs(database_, {key}, sound);
    if (!sound.unread.empty()) return false;
    std::int64_t run = 0;
    {
      const auto row = connection("SELECT id FROM run WHERE key = ?1", key);
      if (!row->step()) return true;
      run = row->integer(0);
    }
    writing.begin_journal(run, began_before_the_next(connection, run, key));
    writing.note(run, copy_event(connection, run));
    note_programs(writing, run);
    writing.commit();
    report_.written_anew.push_back(key);
    return true;
  }

  /// Returns the time when the run began; if that is lost, a time before the next run in the index.
  std::int64_t began_before_the_next(Connection& connection, std::int64_t run,
                                     const std::string& key) const {
    const std::int64_t known = began_at(database_, key);
    const std::int64_t began = known != 0 ? known : now_us();
    const auto later = connection("SELECT key FROM run WHERE id > ?1 ORDER BY id", run);
    while (later->step()) {
      const std::int64_t next = began_at(database_, later->text(0));
      if (next != 0) return std::min(began, next - 1);
    }
    return began;
  }

  /// Adds facts about programs of the run's repository (build commands, outputs), which the run's
  /// journals may have had. They hold for all runs of the repository.
  static void note_programs(Writing& writing, std::int64_t run) {
    Connection& connection = writing.connection();
    const auto commands = connection(
        "SELECT root, program, command FROM build_command WHERE root = (SELECT repository FROM run "
        "WHERE id = ?1)",
        run);
    while (commands->step()) {
      writing.note(run, BuildCommandEvent{commands->text(0), commands->text(1), commands->text(2)});
    }
    std::map<std::string, OutputsEvent> outputs;
    const auto rows = connection(
        "SELECT root, program, path FROM output WHERE root = (SELECT repository FROM run WHERE id "
        "= ?1) ORDER BY program, path",
        run);
    while (rows->step()) {
      OutputsEvent& event = outputs[rows->text(1)];
      event.repository = rows->text(0);
      event.program = rows->text(1);
      event.paths.push_back(rows->text(2));
    }
    for (const auto& [program, event] : outputs) writing.note(run, event);
  }

  void mend(const std::string& run, const FoundJournal& journal, const Condition& condition) {
    const fs::path aside = name_aside(journal.path, fmt::format("{}-{}", run, journal.number));
    if (condition.is_senseless) {
      put_aside(journal.path, aside);
      return forget(run, journal.number);
    }
    const auto position = mend_file(journal.path, aside);
    write_copy(database_.files, journal.path);
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    database_
        .connection(
            "UPDATE journal SET bytes = ?3, frames = ?4 WHERE writer = ?2 AND run = (SELECT id "
            "FROM run WHERE key = ?1)",
            run, journal.number, static_cast<std::int64_t>(position.bytes),
            static_cast<std::int64_t>(position.frames))
        ->run();
    transaction.commit();
  }

  JournalPosition mend_file(const fs::path& journal, const fs::path& aside) {
    make_quarantine(database_.paths);
    const JournalPosition position = mend_journal(database_.files, journal, aside);
    std::error_code error;
    if (fs::exists(aside, error)) report_.quarantined.push_back(aside.string());
    return position;
  }

  /// Rewrites the copy of a sound journal if it is damaged or missing.
  void mend_copy(const fs::path& journal) {
    std::error_code error;
    const bool is_there = fs::exists(copy_path(journal), error) || error;
    if (is_written(database_.files, journal)) return;
    if (is_there && damage_of_copy(database_.files, journal).empty()) return;
    if (!is_there && has_no_beginning(database_.files, journal)) return;
    try {
      write_copy(database_.files, journal);
      ++report_.rewritten;
    } catch (const Error&) {
      // The journal cannot be read; the check reports both.
    }
  }

  /// Mends a log of evaluations. If events are lost, writes all known evaluations to a new log.
  void mend_log(const fs::path& log) {
    const Condition condition = examine(log, {});
    if (!condition.is_damaged) return;
    if (condition.has_lost && !std::exchange(has_evaluations_, true)) write_evaluations();
    const fs::path aside = database_.paths.quarantine() / log.filename();
    condition.is_senseless ? put_aside(log, aside) : void(mend_file(log, aside));
  }

  void write_evaluations() {
    std::vector<EvaluationEvent> known;
    {
      const Lock lock(database_.mutex);
      known = known_evaluations(database_.connection);
    }
    const std::shared_ptr<QueueFile> queue = queue_of(database_, QueueUse::change);
    const Lock lock(queue->mutex);
    for (const EvaluationEvent& event : known) queue->evaluations.append(event);
    queue->evaluations.sync();
    queue->evaluations.keep();
  }

  void put_aside(const fs::path& journal, const fs::path& aside) {
    make_quarantine(database_.paths);
    fs::rename(journal, aside);
    std::error_code error;
    fs::remove(copy_path(journal), error);  // nothing in the copy can be read either
    sync_directory(database_.files, database_.paths.quarantine());
    sync_directory(database_.files, journal.parent_path());
    report_.quarantined.push_back(aside.string());
  }

  /// Deletes the index's row of a journal that is gone.
  void forget(const std::string& run, std::int64_t number) {
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    database_
        .connection(
            "DELETE FROM journal WHERE writer = ?2 AND run = (SELECT id FROM run WHERE key = ?1)",
            run, number)
        ->run();
    transaction.commit();
  }

  /// Returns a free name in the quarantine, or the one that an interrupted repair has given this
  /// journal.
  fs::path name_aside(const fs::path& journal, const std::string& name) const {
    for (int number = 1;; ++number) {
      const auto aside =
          database_.paths.quarantine() /
          (number == 1 ? name + ".journal" : fmt::format("{}-{}.journal", name, number));
      std::error_code error;
      if (!fs::exists(aside, error) || fs::equivalent(journal, aside, error)) return aside;
    }
  }

  Database& database_;
  RepairReport& report_;
  bool has_evaluations_ = false;  ///< evaluations in the index were written to a log again
};

}  // namespace

void mend_journals(Database& database, RepairReport& report) {
  JournalMender(database, report).run();
}

bool lacks_end(const JournalReader& read, const fs::path& journal, const KnownJournal& known) {
  if (journal.filename() == kSealedName) return read.last_kind() != EventKind::sealed;
  if (read.position().frames >= known.end.frames) return false;
  // A writer may have shortened the journal after a change failed; in that case the index is
  // rebuilt.
  std::error_code error;
  return known.closed != 0 || fs::file_size(journal, error) >= known.end.bytes;
}

void make_quarantine(const Paths& paths) {
  std::error_code error;
  const fs::path directory = paths.quarantine();
  make_directory_in_home(directory, error);
  if (error) throw_system_error("create", directory, error.value());
}

}  // namespace flor::store
