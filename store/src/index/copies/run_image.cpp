#include "index/copies/run_image.h"

#include "base/unpack.h"
#include "database/manifest.h"
#include "database/rows.h"
#include "database/schema.h"
#include "index/apply.h"
#include "index/catalog/labels.h"
#include "index/catalog/resume_rows.h"
#include "index/copies/fetched_replays.h"
#include "index/copies/row_copy.h"
#include "index/copies/table_copy.h"
#include "index/values/metric_rows.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <unordered_set>

namespace flor::store {
namespace {

constexpr int kLevel = 3;
/// For images of forks: there may be hundreds of forks that contain little else.
constexpr int kSmallLevel = 19;

/// Copies this store's own verdicts on answers of replays. Other stores do not receive these
/// verdicts.
void copy_belief(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  const auto replays = from(
      "SELECT id, key FROM replay CROSS JOIN replay_key ON replay_key.replay = replay.id WHERE run "
      "= ?1 ORDER BY id",
      run);
  while (replays->step()) {
    const std::int64_t old = replays->integer(0), id = replay_id(to, target, replays->text_view(1));
    if (id == 0) continue;
    for (const char* table : {"answer", "claimed_answer", "fetched_replay"}) {
      if (!has_table(from, table)) continue;
      to(fmt::format("DELETE FROM {} WHERE replay = ?1", table), id)->run();
      TableCopy(from, to, table).set("replay", id).copy("replay", old, "replay");
    }
  }
}

std::vector<std::byte> digests_of(Connection& from, Bytes ids) {
  std::vector<std::byte> digests;
  for (const std::uint32_t id : decode_ids(ids)) {
    const auto row = from("SELECT digest FROM chunk WHERE id = ?1", std::int64_t{id});
    if (!row->step()) throw Damaged(fmt::format("chunk {} is missing: run `flor fsck`", id));
    const Bytes digest = row->blob(0);
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  return digests;
}

std::vector<Digest> read_digests(Bytes bytes) {
  std::vector<Digest> digests(bytes.size() / sizeof(Digest));
  if (bytes.size() % sizeof(Digest) != 0) throw Damaged("a list of digests has another length");
  if (!digests.empty()) std::memcpy(digests.data(), bytes.data(), bytes.size());
  return digests;
}

std::int64_t copy_layout(Connection& from, Connection& to, std::int64_t id) {
  const auto row = from("SELECT digest, items FROM layout WHERE id = ?1", id);
  return row->step() ? put_layout(to, row->digest(0), row->blob(1)) : 0;
}

/// Copies the rows of a table. For each row, `change` receives the column `chunks` and returns its
/// content in the copy. `seen` is called with the id of the copy, or of the equal object that `to`
/// already has.
template <typename Change, typename Seen>
void copy_contents(Connection& from, Connection& to, const char* table, const char* condition,
                   std::int64_t run, std::int64_t target, const Change& change, const Seen& seen) {
  const std::string columns = std::string_view(table) == "object"
                                  ? "digest, raw_bytes"
                                  : "kind, main_loop, iteration, loop, created_us, raw_bytes, "
                                    "stored_bytes, digest";
  const bool is_object = std::string_view(table) == "object";
  const auto rows = from(fmt::format("SELECT {}, layout, chunks FROM {} WHERE {} ORDER BY id",
                                     columns, table, condition),
                         run);
  const int count = is_object ? 2 : 8;
  std::string places = "?1";
  for (int i = 2; i <= count + 3; ++i) places += fmt::format(", ?{}", i);
  const std::string sql =
      is_object
          ? "INSERT OR IGNORE INTO object (digest, raw_bytes, layout, chunks) VALUES (?1, ?2, "
            "?3, ?4)"
          : fmt::format("INSERT INTO {} (run, {}, layout, chunks) VALUES ({})", table, columns,
                        places);
  while (rows->step()) {
    const std::vector<std::byte> chunks = change(rows->blob(count + 1));
    const std::int64_t layout = copy_layout(from, to, rows->integer(count));
    const auto insert = to(sql);
    int next = 1;
    if (!is_object) insert->bind(next++, target);
    for (int i = 0; i < count; ++i) bind(*insert, next++, *rows, i);
    insert->bind(next++, layout);
    insert->bind(next, Bytes(chunks));
    insert->run();
    if (insert->changes() > 0) {
      seen(to.last_id(), true, rows->blob(count + 1));
    } else {
      const auto known = to("SELECT id FROM object WHERE digest = ?1", rows->blob(0));
      if (known->step()) seen(known->integer(0), false, rows->blob(count + 1));
    }
  }
}

/// Copies deleted checkpoints. `change` and `seen` are called, as in `copy_contents`, for those
/// that are not collected.
template <typename Change, typename Seen>
void copy_discarded(Connection& from, std::int64_t run, Connection& to, std::int64_t target,
                    const Change& change, const Seen& seen) {
  constexpr int kCopied = 10, kLayout = 10, kChunks = 11;
  const auto rows = from(
      "SELECT kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, "
      "discarded_us, collected_us, layout, chunks FROM discarded WHERE run = ?1 ORDER BY id",
      run);
  while (rows->step()) {
    const bool has_content = rows->is_null(kCopied - 1);
    const auto chunks = has_content ? change(rows->blob(kChunks)) : std::vector<std::byte>();
    const std::int64_t layout = has_content ? copy_layout(from, to, rows->integer(kLayout)) : 0;
    // The id must be one that no checkpoint has or will get.
    const auto insert = to(
        "INSERT INTO discarded (id, run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
        "stored_bytes, digest, discarded_us, collected_us, layout, chunks) VALUES ((SELECT 1 + "
        "max(coalesce((SELECT max(id) FROM discarded), 0), coalesce((SELECT seq FROM "
        "sqlite_sequence WHERE name = 'checkpoint'), 0))), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
        "?10, ?11, ?12, ?13)");
    insert->bind(1, target);
    for (int i = 0; i < kCopied; ++i) bind(*insert, i + 2, *rows, i);
    insert->bind(kCopied + 2, layout);
    insert->bind(kCopied + 3, Bytes(chunks));
    insert->run();
    if (has_content) seen(to.last_id(), true, rows->blob(kChunks));
    to("INSERT INTO sqlite_sequence (name, seq) SELECT 'checkpoint', 0 WHERE NOT EXISTS (SELECT 1 "
       "FROM sqlite_sequence WHERE name = 'checkpoint')")
        ->run();
    to("UPDATE sqlite_sequence SET seq = max(seq, (SELECT max(id) FROM discarded)) WHERE name = "
       "'checkpoint'")
        ->run();
  }
}

/// Copies the last launch of a group whose rank 0 is this run.
void copy_launch(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  to("DELETE FROM rank_launch WHERE leader = ?1", target)->run();
  TableCopy(from, to, "rank_launch").set("leader", target).copy("leader", run, "leader");
}

constexpr const char* kOfRun = "run = ?1";
constexpr const char* kNamedByRun =
    "lower(hex(digest)) IN (SELECT value FROM value JOIN series ON series.id = value.series WHERE "
    "run = ?1 AND value.type IN (5, 7))";

/// Copies the places of objects that the run refers to and that were not fetched.
void copy_absent_objects(Connection& from, std::int64_t run, Connection& to) {
  const auto rows =
      from(fmt::format("SELECT digest, place FROM absent_object WHERE {}", kNamedByRun), run);
  while (rows->step()) {
    to("INSERT OR IGNORE INTO absent_object (digest, place) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT "
       "1 FROM object WHERE digest = ?1)",
       rows->blob(0), rows->text_view(1))
        ->run();
  }
}

/// A database in memory that holds the image.
class Image {
 public:
  Image() : connection_(":memory:", Connection::Mode::create, kNaming) {
    connection_.execute("PRAGMA foreign_keys=OFF");
  }
  explicit Image(std::span<const std::byte> compressed) : Image() {
    std::vector<std::byte> bytes;
    const std::string_view wrong = unpack(compressed, [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    if (!wrong.empty() || bytes.empty()) {
      throw Damaged("a journal's copy of a run cannot be unpacked: run `flor fsck`");
    }
    connection_.load(bytes);
    const auto row = connection_("SELECT id FROM run ORDER BY id LIMIT 1");
    if (!row->step()) throw Damaged("a journal's copy of a run is empty: run `flor fsck`");
    run_ = row->integer(0);
  }
  Connection& connection() { return connection_; }
  std::int64_t run() const { return run_; }

 private:
  static inline const Naming kNaming{"a journal's copy of a run", "run `flor fsck`"};
  Connection connection_;
  std::int64_t run_ = 0;
};

}  // namespace

namespace {

std::vector<std::byte> compressed(Connection& image, int level = kLevel) {
  const std::vector<std::byte> bytes = image.serialize();
  std::vector<std::byte> compressed(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size)) throw Error("cannot compress the copy of a run");
  compressed.resize(size);
  return compressed;
}

void make_tables(Connection& image) {
  image.execute(kSchema);
  add_later_tables(image, OpenMode::create, kLaterTables);
}

/// Copies checkpoints and objects, with digests instead of ids.
void copy_all_contents(Connection& from, std::int64_t run, Connection& to, std::int64_t target) {
  const auto change = [&](Bytes ids) { return digests_of(from, ids); };
  const auto seen = [](std::int64_t, bool, Bytes) {};
  copy_contents(from, to, "checkpoint", kOfRun, run, target, change, seen);
  copy_contents(from, to, "object", kNamedByRun, run, target, change, seen);
}

}  // namespace

std::vector<std::byte> image_of(Connection& from, std::int64_t run, ImageOf contents) {
  Image image;
  Connection& to = image.connection();
  make_tables(to);
  {
    Transaction transaction(to);
    const std::int64_t target = copy_facts(from, run, to, 0, std::nullopt);
    if (contents == ImageOf::all) {
      merge_labels(from, run, to, target, LabelSource::here);
      copy_belief(from, run, to, target);
      copy_launch(from, run, to, target);
      copy_all_contents(from, run, to, target);
      const auto change = [&](Bytes ids) { return digests_of(from, ids); };
      copy_discarded(from, run, to, target, change, [](std::int64_t, bool, Bytes) {});
      copy_absent_objects(from, run, to);
    }
    transaction.commit();
  }
  return compressed(to);
}

namespace {

/// Throws if the image is that of another run, or would turn a fetched run into one recorded here.
void check_copy(Image& image, Connection& to, std::string_view key, const RunOrigin& origin) {
  const auto named =
      image.connection()("SELECT 1 FROM run WHERE id = ?1 AND key = ?2", image.run(), key);
  bool is_right = named->step();
  if (!origin.from_elsewhere()) {
    const auto known = to(
        "SELECT coalesce(kind, 0) FROM run LEFT JOIN origin ON origin.run = run.id WHERE key = ?1",
        key);
    is_right =
        is_right && (!known->step() || known->integer(0) == static_cast<std::int64_t>(origin.kind));
  }
  if (!is_right) {
    throw Damaged("a journal's copy of a run is none of the run of its name: run `flor fsck`");
  }
}

std::int64_t copy_run(Image& image, Database& database, std::string_view key,
                      const CopyEvent& event) {
  Connection& to = database.connection;
  std::int64_t known = 0, leader = 0;
  if (const auto row = to("SELECT id FROM run WHERE key = ?1", key); row->step()) {
    known = row->integer(0);
  }
  if (!event.leader.empty()) {
    const auto row = to("SELECT id FROM run WHERE key = ?1", event.leader);
    if (!row->step()) throw NotFound(fmt::format("run {} is not there", event.leader));
    leader = row->integer(0);
  }
  if (event.origin.from_elsewhere()) {
    // Also for a run that counts as recorded here, because the event that made it a fetched one may
    // be lost.
    if (known != 0) put_origin(to, known, event.origin);
    const std::int64_t run =
        take_facts(image.connection(), image.run(), database, leader, event.origin);
    merge_labels(image.connection(), image.run(), to, run, LabelSource::here);
    return run;
  }
  database.series.clear();  // the series of the run get new ids
  const std::int64_t run = copy_facts(image.connection(), image.run(), to, leader, event.origin);
  merge_labels(image.connection(), image.run(), to, run, LabelSource::here);
  if (known == 0) remember_name(to, run);
  return run;
}

}  // namespace

std::int64_t apply_copy(Database& database, Placing& placing, std::string_view key,
                        const CopyEvent& event) {
  Image image(event.database);
  Connection& from = image.connection();
  Connection& to = database.connection;
  check_copy(image, to, key, event.origin);
  const std::int64_t run = copy_run(image, database, key, event);
  copy_belief(from, image.run(), to, run);
  copy_launch(from, image.run(), to, run);
  for (const char* table : {"checkpoint", "discarded"}) {
    to(fmt::format("DELETE FROM {} WHERE run = ?1", table), run)->run();
  }
  const std::unordered_set<Digest> foreign(event.foreign.begin(), event.foreign.end());
  const auto is_foreign = [&](const std::vector<Digest>& chunks) {
    return event.origin.from_elsewhere() ||
           std::ranges::any_of(chunks, [&](const Digest& it) { return foreign.contains(it); });
  };
  const auto expect = [&](const char* table) {
    return [&, table](std::int64_t id, bool is_new, Bytes bytes) {
      const std::vector<Digest> chunks = read_digests(bytes);
      const bool elsewhere = is_foreign(chunks);
      // An existing object keeps its content if the copied one came from elsewhere.
      if (!is_new && elsewhere) return;
      placing.expect(table, id, chunks, elsewhere ? PackOrigin::elsewhere : PackOrigin::here);
    };
  };
  const auto none = [](Bytes) { return std::vector<std::byte>(); };
  copy_contents(from, to, "checkpoint", kOfRun, image.run(), run, none, expect("checkpoint"));
  copy_contents(from, to, "object", kNamedByRun, image.run(), run, none, expect("object"));
  copy_discarded(from, image.run(), to, run, none, expect("checkpoint"));
  copy_absent_objects(from, image.run(), to);
  recount_metrics(database, run);
  pack_values(to, run);
  return run;
}

namespace {

std::vector<Digest> foreign_of(Connection& index, std::int64_t run) {
  std::vector<Digest> foreign;
  if (!index("SELECT 1 FROM foreign_chunk LIMIT 1")->step()) return foreign;
  std::set<std::uint32_t> chunks;
  for (const std::string& table : {std::string("checkpoint WHERE run = ?1"),
                                   std::string("discarded WHERE run = ?1 AND collected_us IS NULL"),
                                   std::string("object WHERE ") + kNamedByRun}) {
    const auto rows = index("SELECT chunks FROM " + table, run);
    while (rows->step()) {
      for (const std::uint32_t id : decode_ids(rows->blob(0))) chunks.insert(id);
    }
  }
  for (const std::uint32_t id : chunks) {
    const auto row = index(
        "SELECT digest FROM chunk JOIN foreign_chunk ON foreign_chunk.chunk = chunk.id WHERE id = "
        "?1",
        std::int64_t{id});
    if (row->step()) foreign.push_back(row->digest(0));
  }
  return foreign;
}

}  // namespace

CopyEvent copy_event(Connection& index, std::int64_t run) {
  CopyEvent event;
  {
    const auto row = index(
        "SELECT key FROM rank_run JOIN run ON run.id = leader WHERE rank_run.run = ?1 AND leader "
        "<> ?1",
        run);
    if (row->step()) event.leader = row->text(0);
  }
  {
    const auto row = index("SELECT kind, place, since_us FROM origin WHERE run = ?1", run);
    if (row->step()) {
      event.origin = {static_cast<RunOrigin::Kind>(row->integer(0)), row->text(1), row->integer(2)};
    }
  }
  event.database = image_of(index, run, ImageOf::all);
  if (!event.origin.from_elsewhere()) event.foreign = foreign_of(index, run);
  return event;
}

namespace {

/// Replaces the facts of the run's start.
void put_start(Connection& image, std::int64_t run, const NewRun& start,
               const std::optional<RunBuild>& build) {
  image(
      "UPDATE run SET key = ?2, experiment = ?3, started_us = ?4, version = ?5, repository = ?6, "
      "directory = ?7, program = ?8, program_digest = ?9, command = ?10, environment = ?11, "
      "stored_bytes = 0 WHERE id = ?1",
      run, start.key, intern(image, "experiment", "name", start.experiment), start.started_us,
      start.commit, start.repository, start.directory, start.program, start.program_digest,
      to_json(start.command.words()),
      intern(image, "environment", "json", to_json(start.environment)))
      ->run();
  image("DELETE FROM build WHERE run = ?1", run)->run();
  if (build) insert_build(image, run, *build);
  image("DELETE FROM rank_launch")->run();
  image("DELETE FROM rank_run")->run();
  if (!start.rank) return;
  // If this is not rank 0, rank 0's run is given only by its key (CopyEvent::leader).
  image("INSERT INTO rank_run (leader, rank, run, world, attempt) VALUES (?1, ?2, ?3, ?4, 0)",
        start.rank->group == 0 ? run : 0, start.rank->rank, run, start.rank->world)
      ->run();
}

std::string key_of_leader(Connection& index, const NewRun& start) {
  if (!start.rank || start.rank->group == 0) return {};
  const auto row = index("SELECT key FROM run WHERE id = ?1", start.rank->group);
  if (row->step()) return row->text(0);
  throw NotFound(fmt::format("run {} leads a group and is not there", start.rank->group));
}

/// Deletes values outside the run's epochs before `epoch`, samples of the machine and printed text,
/// which are of the run that was forked, and rows that only those values used.
void leave_values(Connection& image, std::int64_t epoch) {
  image(
      "DELETE FROM value WHERE replay <> 0 OR epoch < 0 OR epoch >= ?1 OR series IN (SELECT id "
      "FROM series WHERE name = 'flor:output' OR name GLOB 'flor:machine/*')",
      epoch)
      ->run();
  for (const char* rest :
       {"DELETE FROM series WHERE id NOT IN (SELECT series FROM value)",
        "DELETE FROM metric WHERE name NOT IN (SELECT name FROM series)",
        "DELETE FROM object WHERE lower(hex(digest)) NOT IN (SELECT value FROM value WHERE type IN "
        "(5, 7))",
        "DELETE FROM absent_object WHERE lower(hex(digest)) NOT IN (SELECT value FROM value WHERE "
        "type IN (5, 7))",
        "DELETE FROM layout WHERE id NOT IN (SELECT layout FROM checkpoint UNION SELECT layout "
        "FROM object)"}) {
    image.execute(rest);
  }
}

/// An empty table takes as much space as some epochs. `apply_copy` works without these tables.
void drop_empty_tables(Connection& image) {
  for (const char* table :
       {"pack",           "chunk",           "decision",      "recording", "gap",
        "resumption",     "build",           "recipe",        "origin",    "journal",
        "apart",          "strategy",        "proof",         "saved",     "score",
        "restoring",      "replay_question", "replayed",      "answer",    "claimed_answer",
        "fetched_replay", "build_command",   "output",        "rank_run",  "rank_launch",
        "rank_check",     "fetched_result",  "job_result",    "job",       "evaluator",
        "evaluation_log", "repository",      "foreign_chunk", "label",     "used_file"}) {
    if (image(fmt::format("SELECT 1 FROM {} LIMIT 1", table))->step()) continue;
    image(fmt::format("DROP TABLE {}", table))->run();
  }
}

}  // namespace

CopyEvent fork_event(Connection& index, const Fork& fork, const NewRun& start,
                     const std::optional<RunBuild>& build, std::span<const std::string> others) {
  const auto row = index("SELECT id FROM run WHERE key = ?1", fork.parent);
  if (!row->step()) throw NotFound(fmt::format("there is no run {}", fork.parent));
  const std::int64_t parent = row->integer(0);
  Image image;
  Connection& to = image.connection();
  make_tables(to);
  {
    Transaction transaction(to);
    const std::int64_t run = copy_facts(index, parent, to, 0, std::nullopt);
    copy_all_contents(index, parent, to, run);
    copy_absent_objects(index, parent, to);
    forget_facts_after(to, run,
                       {.main_loop = fork.main_loop,
                        .iteration = fork.iteration,
                        .epoch = fork.epoch,
                        .boundary = true});
    put_start(to, run, start, build);
    for (const char* table :
         {"replay", "replay_key", "proof", "apart", "resumption", "recording", "fork"}) {
      to(fmt::format("DELETE FROM {}", table))->run();
    }
    leave_values(to, fork.epoch);
    // The parent has written its outputs. What is read outside of the loops, the fork reads again.
    to("DELETE FROM used_file WHERE use <> 0 OR epoch < 0")->run();
    for (const std::string& name : others) {
      to("DELETE FROM argument WHERE run = ?1 AND name = ?2", run, name)->run();
    }
    to("INSERT INTO fork (run, parent, main_loop, iteration, epoch, exact) VALUES (?1, ?2, ?3, ?4, "
       "?5, ?6)",
       run, fork.parent, fork.main_loop, fork.iteration, fork.epoch, fork.exact)
        ->run();
    drop_empty_tables(to);
    transaction.commit();
  }
  to.execute("VACUUM");
  CopyEvent event;
  event.leader = key_of_leader(index, start);
  event.database = compressed(to, kSmallLevel);
  event.foreign = foreign_of(index, parent);
  return event;
}

void apply(Database& database, std::int64_t run, const MergeEvent& event) {
  Image image(event.database);
  merge_replays(image.connection(), image.run(), database, run, event.origin);
  recount_metrics(database, run);
}

}  // namespace flor::store
