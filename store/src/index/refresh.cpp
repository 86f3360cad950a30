#include "index/refresh.h"

#include "base/system_error.h"
#include "database/manifest.h"
#include "database/schema.h"
#include "file/lock_file.h"
#include "file/new_file.h"
#include "index/announcements.h"
#include "index/apply.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/copies/run_image.h"
#include "index/placing.h"
#include "index/values/logged_evaluations.h"
#include "lock/maintenance_lock.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

/// Number of logged values of a run that are held in memory before they are entered.
constexpr std::size_t kLoggedMax = 100'000;

std::int64_t id_of_run(Connection& connection, std::string_view key) {
  const auto row = connection("SELECT id FROM run WHERE key = ?1", key);
  return row->step() ? row->integer(0) : 0;
}

bool is_own(Connection& connection, std::int64_t run) {
  return !connection("SELECT 1 FROM origin WHERE run = ?1", run)->step();
}

PackOrigin origin_of(bool foreign) { return foreign ? PackOrigin::elsewhere : PackOrigin::here; }

std::int64_t put_layout_row(Connection& connection, const Digest& digest,
                            std::span<const std::byte> items) {
  if (!items.empty()) {
    connection("INSERT OR IGNORE INTO layout (digest, items) VALUES (?1, ?2)", digest, Bytes(items))
        ->run();
  }
  const auto row = connection("SELECT id FROM layout WHERE digest = ?1", digest);
  return row->step() ? row->integer(0) : 0;
}

/// True for errors that will occur again. Other errors are temporary, so nothing may be given up
/// because of them.
bool is_damage(const Error& error) {
  if (dynamic_cast<const Damaged*>(&error) || dynamic_cast<const StatementRefused*>(&error)) {
    return true;
  }
  const auto* reason = dynamic_cast<const SystemError*>(&error);
  return reason && reason->code() == EIO;
}

/// Enters the events of one run's journals in order of their times.
class RunRefresh {
 public:
  RunRefresh(Database& database, Placing& placing, std::string key, RefreshReport& report)
      : database_(database),
        connection_(database.connection),
        placing_(placing),
        key_(std::move(key)),
        run_(id_of_run(connection_, key_)),
        report_(report) {}

  /// Returns false if the run cannot be entered yet, because the run of its group's rank 0 is
  /// missing.
  bool read() {
    std::vector<Source> sources = open_journals();
    while (true) {
      Source* next = nullptr;
      for (Source& source : sources) {
        if (source.event && (!next || source.event->at_us < next->event->at_us)) next = &source;
      }
      if (!next) break;
      if (!enter(*next)) return false;
      try {
        next->advance();
      } catch (const Error& error) {
        next->event.reset();
        pass_over(error);
      }
    }
    enter_logged_values();
    for (Source& source : sources) {
      for (const std::string& line : source.reader->damage()) report_.damage.push_back(line);
      if (run_ == 0 || source.done.frames == source.from.frames) continue;
      put_position(connection_, run_, source.number, source.done, source.last_us);
    }
    report_.damage.insert(report_.damage.end(), cost_.begin(), cost_.end());
    if (recount_ && run_ != 0) recount();
    if (dropped_ && run_ == 0) report_.dropped.insert(key_);
    if (read_ > 0) ++report_.runs;
    report_.events += read_;
    return true;
  }

 private:
  struct Source {
    std::int64_t number = 0;
    std::unique_ptr<JournalReader> reader;
    std::optional<JournalEvent> event = {};
    JournalPosition from = {}, done = {};
    std::int64_t last_us = 0;
    std::vector<Value> found = {};  ///< values of a replay whose event `parts` has not been read
                                    ///< yet
    bool lost = false;              ///< some values of `found` may be lost

    void advance() {
      // Values of a replay are complete only with their event `parts`; until then the position
      // stays before them, so that they are read again together.
      if (found.empty()) {
        done = reader->position();
        last_us = std::max(last_us, event->at_us);
      }
      event = reader->next();
    }
  };

  std::vector<Source> open_journals() {
    std::vector<Source> sources;
    for (const FoundJournal& found : find_journals(database_.paths, key_)) {
      Source source{.number = found.number, .reader = nullptr};
      if (run_ != 0) {
        const auto row = connection_(
            "SELECT bytes, frames, last_us, closed FROM journal WHERE run = ?1 AND "
            "writer = ?2",
            run_, found.number);
        if (row->step()) {
          // A closed journal has no further events, and another process may be sealing it at this
          // moment.
          if (row->integer(3) != 0) continue;
          source.from = {static_cast<std::uint64_t>(row->integer(0)),
                         static_cast<std::uint64_t>(row->integer(1))};
          source.last_us = row->integer(2);
        }
      }
      source.done = source.from;
      try {
        source.reader = std::make_unique<JournalReader>(database_.files, found.path, source.from);
        source.event = source.reader->next();
      } catch (const Error& error) {
        pass_over(error);
        continue;
      }
      sources.push_back(std::move(source));
    }
    return sources;
  }

  /// Enters logged values together, because it is faster to make one block of many values of a
  /// series. An error in them does not affect other events.
  void enter_logged_values() {
    if (logged_.empty()) return;
    const std::vector<Value> values = std::exchange(logged_, {});
    try {
      insert_values(database_, run_, values);
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      cost_.push_back(fmt::format("run {}: {}", key_, error.what()));
    }
  }

  /// Skips the rest of a journal that cannot be read.
  void pass_over(const Error& error) {
    const bool later = may_be_readable_later(error);
    if (!later && !is_damage(error)) throw;
    if (later) report_.unread.insert(key_);
    report_.damage.push_back(error.what());
  }

  bool enter(Source& source) {
    const JournalEvent& event = *source.event;
    source.lost = source.lost || event.follows_loss;
    ++read_;
    try {
      switch (event.kind) {
        case EventKind::writer:
          return true;
        case EventKind::run:
          if (run_ == 0) run_ = apply_run(database_, decode_event<RunEvent>(event.payload));
          return true;
        case EventKind::copy:
          enter_logged_values();
          run_ = apply_copy(database_, placing_, key_, decode_event<CopyEvent>(event.payload));
          cost_.clear();
          return true;
        default:
          break;
      }
    } catch (const NotFound&) {
      return false;
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      cost_.push_back(fmt::format("run {}: {}", key_, error.what()));
      return true;
    }
    if (run_ == 0) {
      if (!std::exchange(headless_, true)) {
        cost_.push_back(fmt::format(
            "run {}: its journals do not say how it began: what they say is left out", key_));
      }
      return true;
    }
    try {
      enter(source, event);
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      cost_.push_back(fmt::format("run {}: {}", key_, error.what()));
    }
    return true;
  }

  template <typename Event>
  void apply_one(std::span<const std::byte> payload) {
    apply(database_, run_, decode_event<Event>(payload));
  }

  void enter(Source& source, const JournalEvent& event) {
    const auto payload = event.payload;
    if (!is_about_others(event.kind)) enter_logged_values();
    switch (event.kind) {
      case EventKind::argument:
        return apply_one<ArgumentEvent>(payload);
      case EventKind::progress:
        return apply_one<ProgressEvent>(payload);
      case EventKind::values: {
        std::vector<Value> values = values_of(payload);
        logged_.insert(logged_.end(), std::make_move_iterator(values.begin()),
                       std::make_move_iterator(values.end()));
        if (logged_.size() >= kLoggedMax) enter_logged_values();
        return;
      }
      case EventKind::found: {
        std::vector<Value> values = values_of(payload);
        source.found.insert(source.found.end(), std::make_move_iterator(values.begin()),
                            std::make_move_iterator(values.end()));
        return;
      }
      case EventKind::parts: {
        const auto parts = decode_event<PartsEvent>(payload);
        const std::vector<Value> values = std::exchange(source.found, {});
        if (std::exchange(source.lost, false)) {
          cost_.push_back(fmt::format(
              "run {}: what a replay found next is lost with that: replay it again", key_));
          return;
        }
        const std::int64_t replay = replay_id(connection_, run_, parts.replay);
        if (replay != 0) apply_replayed(database_, run_, replay, values, parts.parts);
        return;
      }
      case EventKind::checkpoint:
        return enter_checkpoint(decode_event<CheckpointEvent>(payload));
      case EventKind::object:
        return enter_object(decode_event<ObjectEvent>(payload));
      case EventKind::discard:
        return apply_one<DiscardEvent>(payload);
      case EventKind::proof:
        return apply_one<ProofEvent>(payload);
      case EventKind::undiscard:
        return apply_one<UndiscardEvent>(payload);
      case EventKind::collected:
        return apply_one<CollectedEvent>(payload);
      case EventKind::forget:
        return apply_one<ForgetEvent>(payload);
      case EventKind::archived:
        return apply_one<ArchivedEvent>(payload);
      case EventKind::end:
        return apply_one<EndEvent>(payload);
      case EventKind::interrupt:
        return apply_one<InterruptEvent>(payload);
      case EventKind::reopen:
        return apply_one<ReopenEvent>(payload);
      case EventKind::resume:
        return apply_one<ResumeEvent>(payload);
      case EventKind::gaps:
        return apply_one<GapsEvent>(payload);
      case EventKind::launch:
        return apply_one<LaunchEvent>(payload);
      case EventKind::join:
        return apply_one<JoinEvent>(payload);
      case EventKind::close_launch:
        return apply_one<CloseLaunchEvent>(payload);
      case EventKind::saved:
        return apply_one<SavedEvent>(payload);
      case EventKind::score:
        return apply_one<ScoreEvent>(payload);
      case EventKind::strategy:
        return apply_one<StrategyEvent>(payload);
      case EventKind::replay:
        return apply_one<ReplayEvent>(payload);
      case EventKind::restoring:
        return apply_one<RestoringEvent>(payload);
      case EventKind::replay_end:
        return apply_one<ReplayEndEvent>(payload);
      case EventKind::verify:
        return apply_one<VerifyEvent>(payload);
      case EventKind::doubt:
        return apply_one<DoubtEvent>(payload);
      case EventKind::outputs:
        return apply_one<OutputsEvent>(payload);
      case EventKind::build_command:
        return apply_one<BuildCommandEvent>(payload);
      case EventKind::origin:
        return apply_one<OriginEvent>(payload);
      case EventKind::merge:
        return apply_one<MergeEvent>(payload);
      case EventKind::label:
        return apply_one<LabelEvent>(payload);
      case EventKind::input:
        return apply_one<InputEvent>(payload);
      case EventKind::output:
        return apply_one<OutputEvent>(payload);
      case EventKind::sealed:
        return;
      case EventKind::drop:
        apply_one<DropEvent>(payload);
        dropped_ = true;
        run_ = 0;
        return;
      default:
        return;  // an unknown event of a later version
    }
  }

  /// True if applying the event does not depend on values logged before it.
  static bool is_about_others(EventKind kind) {
    switch (kind) {
      case EventKind::values:
      case EventKind::found:
      case EventKind::argument:
      case EventKind::progress:
      case EventKind::checkpoint:
      case EventKind::object:
      case EventKind::saved:
      case EventKind::score:
      case EventKind::strategy:
      case EventKind::input:
      case EventKind::output:
        return true;
      default:
        return false;
    }
  }

  std::vector<Value> values_of(std::span<const std::byte> payload) {
    const auto event = decode_event<ValuesEvent>(payload);
    const std::int64_t replay =
        event.replay.empty() ? 0 : replay_id(connection_, run_, event.replay);
    if (!event.replay.empty() && replay == 0) return {};
    return decode_values(event, replay);
  }

  void enter_checkpoint(const CheckpointEvent& event) {
    const CheckpointInfo& info = event.info;
    const CheckpointKey& key = info.key;
    const auto kind = static_cast<std::int64_t>(key.kind);
    const std::int64_t layout = put_layout_row(connection_, event.layout, event.items);
    if (layout == 0) {
      cost_.push_back(
          fmt::format("{} is lost: so is the event with its layout", describe(key, key_)));
      return;
    }
    connection_(
        "DELETE FROM checkpoint WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND iteration = ?4 "
        "AND loop = ?5",
        run_, kind, key.main_loop, key.iteration, key.loop)
        ->run();
    connection_(
        "INSERT INTO checkpoint (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
        "stored_bytes, digest, layout, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
        "x'')",
        run_, kind, key.main_loop, key.iteration, key.loop, info.created_us,
        static_cast<std::int64_t>(info.raw_bytes), static_cast<std::int64_t>(info.stored_bytes),
        info.digest, layout)
        ->run();
    const std::int64_t id = connection_.last_id();
    note_return(connection_, run_, {key, info.digest});
    add_stored(info.stored_bytes);
    recount_ = true;
    placing_.know(event.packs, origin_of(event.foreign));
    placing_.expect("checkpoint", id, event.chunks, origin_of(event.foreign));
  }

  void enter_object(const ObjectEvent& event) {
    const std::int64_t layout = put_layout_row(connection_, digest_of(event.items), event.items);
    placing_.know(event.packs, origin_of(event.foreign));
    add_stored(event.stored_bytes);
    if (layout == 0) return;
    const auto insert = connection_(
        "INSERT OR IGNORE INTO object (digest, raw_bytes, layout, chunks) VALUES (?1, ?2, ?3, x'')",
        event.digest, static_cast<std::int64_t>(event.raw_bytes), layout);
    insert->run();
    // An object recorded here keeps its chunks if the same object is imported. An imported one is
    // replaced if it is recorded here.
    if (insert->changes() == 0 && event.foreign && !is_own(connection_, run_)) return;
    const auto row = connection_("SELECT id FROM object WHERE digest = ?1", event.digest);
    row->step();
    placing_.expect("object", row->integer(0), event.chunks, origin_of(event.foreign));
  }

  void add_stored(std::uint64_t bytes) {
    connection_("UPDATE run SET stored_bytes = stored_bytes + ?2 WHERE id = ?1", run_,
                static_cast<std::int64_t>(bytes))
        ->run();
  }
  void recount() {
    connection_(
        "UPDATE run SET checkpoints = (SELECT count(*) FROM checkpoint WHERE run = ?1), raw_bytes "
        "= (SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = ?1) WHERE id = ?1",
        run_)
        ->run();
  }

  Database& database_;
  Connection& connection_;
  Placing& placing_;
  std::string key_;
  std::int64_t run_;
  RefreshReport& report_;
  std::vector<Value> logged_;  ///< values not entered yet
  std::int64_t read_ = 0;
  bool headless_ = false, recount_ = false, dropped_ = false;
  /// Messages about lost events. They are dropped if a copy event states all facts about the run
  /// again.
  std::vector<std::string> cost_;
};

/// True if the journal may have events, also if its size is unknown: the error is then reported
/// each time until it can be read.
bool may_have_events(const Database& database, const fs::path& journal) {
  std::error_code error;
  const auto size = length_of(database.paths, journal, error);
  if (error) return error != std::errc::no_such_file_or_directory;
  return size > kFileHeaderBytes && !has_no_beginning(database.files, journal);
}

/// Returns the keys of runs whose journals have events that the index lacks.
std::vector<std::string> runs_behind(Database& database) {
  std::set<std::string> behind, announced;
  for (Announcement& one : waiting_announcements(database)) announced.insert(std::move(one.run));
  for (const std::string& key : announced) {
    const std::int64_t run = id_of_run(database.connection, key);
    for (const FoundJournal& journal : find_journals(database.paths, key)) {
      const auto row = database.connection("SELECT 1 FROM journal WHERE run = ?1 AND writer = ?2",
                                           run, journal.number);
      if (!row->step() && may_have_events(database, journal.path)) behind.insert(key);
    }
  }
  const auto rows = database.connection(
      "SELECT run.key, writer, bytes FROM journal JOIN run ON run.id = journal.run WHERE NOT "
      "closed");
  while (rows->step()) {
    std::error_code error;
    const fs::path journal =
        journal_in(database.paths.run(rows->text_view(0)) / std::to_string(rows->integer(1)));
    // It was sealed by a process with another index. Positions in it do not match those of events
    // that this index lacks, so this index must be rebuilt.
    if (journal.filename() == kSealedName) {
      remember_damage(database.paths.catalog());
      continue;
    }
    const auto size = length_of(database.paths, journal, error);
    const auto known = static_cast<std::uint64_t>(rows->integer(2));
    if (!error && size > known) behind.insert(rows->text(0));
    // The writer has removed events that were already entered, which only a rebuilt index can undo.
    if (!error && size < known) remember_damage(database.paths.catalog());
  }
  return {behind.begin(), behind.end()};
}

/// Removes directories of dropped runs that remain because the process that dropped the runs had an
/// index that was replaced.
void remove_dropped(Database& database, const std::set<std::string>& keys) {
  // On a shared home they are left to `flor gc`, because other indexes must be made outdated first.
  if (database.paths.shared || database.may_be_replaced()) return;
  // The transaction prevents other processes from fetching one of the runs meanwhile.
  Transaction transaction(database.connection);
  for (const std::string& key : keys) {
    if (id_of_run(database.connection, key) == 0) remove_run_directory(database.paths, key);
  }
}

}  // namespace

namespace {

/// True if a journal whose writer has ended grew after it was entered. A torn tail does not count.
bool says_more(Database& database, const fs::path& journal, JournalPosition entered) {
  std::error_code error;
  if (fs::file_size(journal, error) <= entered.bytes || error) return false;
  try {
    return JournalReader(database.files, journal, entered).next().has_value();
  } catch (const Error&) {
    return false;  // was reported when it was read
  }
}

}  // namespace

void close_ended_journals(Database& database, const std::set<std::string>& unread) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ended;
  const bool locks_are_local = !why_locks_are_local(database).empty();
  {
    const auto rows = database.connection(
        "SELECT run, writer, run.key, bytes, frames FROM journal JOIN run ON run.id = journal.run "
        "WHERE NOT closed");
    while (rows->step()) {
      if (unread.contains(rows->text(2))) continue;
      const auto path =
          journal_in(database.paths.run(rows->text_view(2)) / std::to_string(rows->integer(1)));
      const JournalPosition entered{static_cast<std::uint64_t>(rows->integer(3)),
                                    static_cast<std::uint64_t>(rows->integer(4))};
      if (is_written(database.files, path) || says_more(database, path, entered)) continue;
      if (locks_are_local && is_recent(path)) continue;
      ended.emplace_back(rows->integer(0), rows->integer(1));
    }
  }
  for (const auto& one : ended) {
    database
        .connection("UPDATE journal SET closed = 1 WHERE run = ?1 AND writer = ?2", one.first,
                    one.second)
        ->run();
  }
}

/// If a file is not a journal, is gone or may not be read, other journals are still entered. It is
/// read again later, because all of this can be repaired.
bool may_be_readable_later(const Error& error) {
  if (dynamic_cast<const NewerFormat*>(&error)) return true;
  const auto* reason = dynamic_cast<const SystemError*>(&error);
  if (!reason) return false;
  static constexpr std::array kCodes = {ENXIO, EISDIR, ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, EIO};
  return std::ranges::find(kCodes, reason->code()) != kCodes.end();
}

std::int64_t began_at(const Database& database, const std::string& key) {
  std::int64_t began = 0;
  for (const FoundJournal& journal : find_journals(database.paths, key)) {
    try {
      JournalReader reader(database.files, journal.path, {});
      const auto event = reader.next();
      if (!event) continue;
      std::int64_t said = event->at_us;
      if (event->kind == EventKind::writer) {
        const std::int64_t earlier = decode_event<WriterEvent>(event->payload).began_us;
        if (earlier != 0) said = std::min(said, earlier);
      }
      if (began == 0 || said < began) began = said;
    } catch (const Error&) {
      // Will be reported when the journal is read.
    }
  }
  return began;
}

void enter_runs(Database& database, std::vector<std::string> keys, RefreshReport& report,
                const OnRuns& on_runs) {
  const std::size_t all = keys.size();
  Placing placing(database);
  std::vector<std::pair<std::int64_t, std::string>> runs;
  for (std::string& key : keys) {
    const std::int64_t began = began_at(database, key);
    runs.emplace_back(began, std::move(key));
  }
  std::ranges::sort(runs);
  std::size_t done = 0;
  // Runs whose group's rank 0 is not entered yet are read after it, whatever their clocks say.
  while (!runs.empty()) {
    std::vector<std::pair<std::int64_t, std::string>> waiting;
    for (auto& run : runs) {
      if (!RunRefresh(database, placing, run.second, report).read()) {
        waiting.push_back(run);
      } else if (on_runs) {
        on_runs(++done, all);
      }
    }
    if (waiting.size() == runs.size()) {
      for (const auto& run : waiting) {
        report.damage.push_back(fmt::format(
            "run {} is left out: the run that leads its group is not there", run.second));
      }
      break;
    }
    runs = std::move(waiting);
  }
  for (std::string& line : placing.finish()) report.lost.push_back(std::move(line));
}

JournalPosition position_of(Connection& connection, std::string_view run, std::int64_t writer) {
  const auto row = connection(
      "SELECT bytes, frames FROM journal JOIN run ON run.id = journal.run WHERE run.key = ?1 AND "
      "writer = ?2",
      run, writer);
  if (!row->step()) return {};
  return {static_cast<std::uint64_t>(row->integer(0)), static_cast<std::uint64_t>(row->integer(1))};
}

KnownJournals known_journals(Database& database, std::string_view run) {
  const std::lock_guard lock(database.mutex);
  KnownJournals known;
  const auto rows = database.connection(
      "SELECT writer, bytes, frames, last_us, closed FROM journal WHERE run = (SELECT id FROM run "
      "WHERE key = ?1)",
      run);
  while (rows->step()) {
    known[rows->integer(0)] = {{static_cast<std::uint64_t>(rows->integer(1)),
                                static_cast<std::uint64_t>(rows->integer(2))},
                               rows->integer(3),
                               rows->integer(4)};
  }
  return known;
}

void put_position(Connection& connection, std::int64_t run, std::int64_t writer,
                  JournalPosition position, std::int64_t last_us) {
  connection(
      "INSERT INTO journal (run, writer, bytes, frames, last_us, closed) VALUES (?1, ?2, ?3, ?4, "
      "?5, 0) ON CONFLICT DO UPDATE SET bytes = excluded.bytes, frames = excluded.frames, last_us "
      "= "
      "max(last_us, excluded.last_us), closed = 0",
      run, writer, static_cast<std::int64_t>(position.bytes),
      static_cast<std::int64_t>(position.frames), last_us)
      ->run();
}

WriterEvent this_writer(std::string_view run, std::int64_t number) {
  WriterEvent writer;
  writer.run = run;
  writer.number = number;
  writer.process = ::getpid();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) writer.host = host.data();
  return writer;
}

std::string cannot_list(const fs::path& directory) {
  return fmt::format("{} cannot be listed, and may have journals: make it readable",
                     directory.string());
}

void enter_behind(Database& database) { enter_behind(database, runs_behind(database)); }

void enter_behind(Database& database, std::vector<std::string> keys) {
  RefreshReport report;
  enter_runs(database, std::move(keys), report);
  judge_losses(database, report);
  for (const std::string& line : report.damage) std::fprintf(stderr, "flor: %s\n", line.c_str());
}

bool is_behind(Database& database) {
  return !runs_behind(database).empty() || lacks_evaluations(database);
}

RefreshReport refresh(Database& database) {
  RefreshReport report;
  const std::lock_guard lock(database.mutex);
  Transaction transaction(database.connection);
  const std::vector<Announcement> waiting = waiting_announcements(database);
  const std::vector<std::string> keys = runs_behind(database);
  if (keys.empty() && !lacks_evaluations(database)) {
    note_served(database, waiting, {});
    transaction.commit();  // another process has entered everything meanwhile
    return report;
  }
  enter_runs(database, keys, report);
  judge_losses(database, report);
  close_ended_journals(database, report.unread);
  // Results of evaluations may belong to runs that were just entered.
  enter_new_evaluations(database, report.damage);
  note_served(database, waiting, report.unread);
  std::vector<fs::path> served;
  for (const std::string& key : keys) {
    if (database.paths.shared || report.unread.contains(key)) continue;
    for (fs::path& file : served_announcements(database, key)) served.push_back(std::move(file));
  }
  transaction.commit();
  std::error_code error;
  for (const fs::path& file : served) fs::remove(file, error);
  if (!report.dropped.empty()) remove_dropped(database, report.dropped);
  return report;
}

}  // namespace flor::store
