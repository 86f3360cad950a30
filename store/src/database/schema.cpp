#include "database/schema.h"

namespace flor::store {

// AUTOINCREMENT is used where the id of a removed row must never be reused: lock files and values
// refer to runs, and the blobs in `checkpoint` and running writers refer to chunks.
const char* const kSchema = R"sql(
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  json TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  experiment INTEGER NOT NULL REFERENCES experiment,
  started_us INTEGER NOT NULL,
  finished_us INTEGER,
  failed INTEGER,
  message TEXT NOT NULL DEFAULT '',
  degraded TEXT NOT NULL DEFAULT '',
  version TEXT NOT NULL,
  repository TEXT NOT NULL,
  directory TEXT NOT NULL,
  program TEXT NOT NULL,
  program_digest TEXT NOT NULL,
  command TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment,
  epochs INTEGER NOT NULL DEFAULT 0,
  checkpoints INTEGER NOT NULL DEFAULT 0,
  raw_bytes INTEGER NOT NULL DEFAULT 0,
  stored_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX run_by_experiment ON run (experiment, id);

CREATE TABLE argument (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  type TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE main_loop (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  first_epoch INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  broke INTEGER NOT NULL,
  PRIMARY KEY (run, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE iteration (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  seconds REAL NOT NULL,
  record_seconds REAL NOT NULL,
  PRIMARY KEY (run, main_loop, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE execution (
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  loop TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  broke INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (run, main_loop, iteration, loop)
) STRICT, WITHOUT ROWID;

CREATE TABLE pack (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  bytes INTEGER NOT NULL,
  created_us INTEGER NOT NULL
) STRICT;

CREATE TABLE chunk (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  pack INTEGER NOT NULL REFERENCES pack,
  offset INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  type INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  base INTEGER REFERENCES chunk
) STRICT;
CREATE INDEX chunk_by_pack ON chunk (pack);
CREATE INDEX chunk_by_base ON chunk (base) WHERE base IS NOT NULL;

CREATE TABLE layout (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  items BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoint (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  kind INTEGER NOT NULL,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  loop TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  digest BLOB NOT NULL,
  layout INTEGER NOT NULL REFERENCES layout,
  chunks BLOB NOT NULL,
  UNIQUE (run, kind, main_loop, iteration, loop)
) STRICT;

CREATE TABLE object (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL UNIQUE,
  raw_bytes INTEGER NOT NULL,
  layout INTEGER NOT NULL REFERENCES layout,
  chunks BLOB NOT NULL
) STRICT;

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  UNIQUE (run, name, path)
) STRICT;

CREATE TABLE value (
  series INTEGER NOT NULL REFERENCES series ON DELETE CASCADE,
  epoch INTEGER NOT NULL,
  step INTEGER NOT NULL,
  inner TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  replay INTEGER NOT NULL,
  type INTEGER NOT NULL,
  value ANY NOT NULL,
  PRIMARY KEY (series, epoch, step, inner, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  type INTEGER NOT NULL,
  count INTEGER NOT NULL,
  recorded INTEGER NOT NULL,
  minimum REAL,
  maximum REAL,
  last ANY NOT NULL,
  last_epoch INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  last_inner TEXT NOT NULL,
  last_ordinal INTEGER NOT NULL,
  UNIQUE (run, name)
) STRICT;

CREATE TABLE replay (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  started_us INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  segments INTEGER NOT NULL,
  first_epoch INTEGER NOT NULL,
  last_epoch INTEGER NOT NULL,
  strong INTEGER NOT NULL,
  probes TEXT NOT NULL,
  program_digest TEXT NOT NULL,
  command TEXT NOT NULL,
  finished_us INTEGER,
  verdict INTEGER NOT NULL DEFAULT 0,
  values_compared INTEGER NOT NULL DEFAULT 0,
  values_different INTEGER NOT NULL DEFAULT 0,
  states_compared INTEGER NOT NULL DEFAULT 0,
  states_different INTEGER NOT NULL DEFAULT 0,
  values_found INTEGER NOT NULL DEFAULT 0,
  first_difference TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX replay_by_run ON replay (run);

CREATE TABLE repository (
  root TEXT PRIMARY KEY,
  experiment TEXT NOT NULL,
  used_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

namespace {

// Tables of evaluations: in the queue they have waiting and finished ones, in the index only
// finished ones.
constexpr LaterTable kEvaluator{"evaluator", R"sql(
  id INTEGER PRIMARY KEY,
  spec TEXT NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (spec, digest)
)sql",
                                "STRICT"};
constexpr LaterTable kJob{"job", R"sql(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  content BLOB NOT NULL,
  evaluator INTEGER NOT NULL REFERENCES evaluator,
  arguments TEXT NOT NULL,
  path TEXT NOT NULL,
  priority INTEGER NOT NULL,
  state INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  token INTEGER NOT NULL,
  owner TEXT NOT NULL,
  added_us INTEGER NOT NULL,
  due_us INTEGER NOT NULL,
  leased_us INTEGER,
  lease_until_us INTEGER,
  finished_us INTEGER,
  message TEXT NOT NULL,
  UNIQUE (content, evaluator, arguments)
)sql",
                          "STRICT",
                          R"sql(
CREATE INDEX IF NOT EXISTS job_open ON job (evaluator, priority DESC, id) WHERE state IN (0, 2);
CREATE INDEX IF NOT EXISTS job_leased ON job (id) WHERE state = 1;
)sql"};
constexpr LaterTable kJobResult{"job_result", R"sql(
  job INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,
  token INTEGER NOT NULL,
  json TEXT NOT NULL
)sql",
                                "STRICT"};
/// How far the logs of evaluations were entered.
constexpr LaterTable kEvaluationLog{"evaluation_log", R"sql(
  name TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  frames INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0
)sql",
                                    "STRICT, WITHOUT ROWID"};

constexpr LaterTable kTables[] = {
    {"decision", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  main_loop INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  cost REAL NOT NULL,
  computed REAL NOT NULL,
  PRIMARY KEY (run, main_loop, first)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"recording", R"sql(
  run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  every INTEGER NOT NULL,
  epsilon REAL NOT NULL,
  materialization REAL NOT NULL,
  computation REAL NOT NULL,
  restore_factor REAL NOT NULL,
  cost REAL NOT NULL,
  computed REAL NOT NULL,
  forced REAL NOT NULL,
  startup REAL NOT NULL,
  iterations INTEGER NOT NULL,
  stored INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  hurried INTEGER NOT NULL,
  fast INTEGER NOT NULL,
  raw INTEGER NOT NULL
)sql",
     "STRICT"},
    {"gap", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  lost_values INTEGER NOT NULL,
  why TEXT NOT NULL,
  PRIMARY KEY (run, first)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"restoring", R"sql(
  replay INTEGER PRIMARY KEY REFERENCES replay ON DELETE CASCADE,
  raw_bytes INTEGER NOT NULL,
  seconds REAL NOT NULL
)sql",
     "STRICT"},
    {"resumption", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  resumed_us INTEGER NOT NULL,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  boundary INTEGER NOT NULL,
  loop TEXT NOT NULL,
  step INTEGER NOT NULL,
  version TEXT NOT NULL,
  program_digest TEXT NOT NULL,
  command TEXT NOT NULL,
  PRIMARY KEY (run, ordinal)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"replay_question", R"sql(
  replay INTEGER PRIMARY KEY REFERENCES replay ON DELETE CASCADE,
  question TEXT NOT NULL
)sql",
     "STRICT"},
    {"recipe", R"sql(
  id INTEGER PRIMARY KEY,
  json TEXT NOT NULL UNIQUE
)sql",
     "STRICT"},
    {"build", R"sql(
  run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  recipe INTEGER NOT NULL REFERENCES recipe,
  remark TEXT NOT NULL
)sql",
     "STRICT"},
    // Runs that came from elsewhere. A run without a row was recorded here.
    {"origin", R"sql(
  run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  kind INTEGER NOT NULL,
  place TEXT NOT NULL,
  since_us INTEGER NOT NULL
)sql",
     "STRICT"},
    // How far the journals of runs were entered.
    {"journal", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  writer INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  frames INTEGER NOT NULL,
  last_us INTEGER NOT NULL,
  closed INTEGER NOT NULL,
  PRIMARY KEY (run, writer)
)sql",
     "STRICT, WITHOUT ROWID",
     R"sql(
CREATE INDEX IF NOT EXISTS journal_open ON journal (run) WHERE NOT closed;
)sql"},
    // The keys by which journals name replays; unique in a run.
    {"replay_key", R"sql(
  replay INTEGER PRIMARY KEY REFERENCES replay ON DELETE CASCADE,
  key TEXT NOT NULL
)sql",
     "STRICT"},
    {"build_command", R"sql(
  root TEXT NOT NULL,
  program TEXT NOT NULL,
  command TEXT NOT NULL,
  PRIMARY KEY (root, program)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"output", R"sql(
  root TEXT NOT NULL,
  program TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (root, program, path)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"replayed", R"sql(
  replay INTEGER NOT NULL REFERENCES replay ON DELETE CASCADE,
  part INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  values_compared INTEGER NOT NULL,
  values_different INTEGER NOT NULL,
  states_compared INTEGER NOT NULL,
  states_different INTEGER NOT NULL,
  values_found INTEGER NOT NULL,
  first_difference TEXT NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (replay, part)
)sql",
     "STRICT, WITHOUT ROWID"},
    // The verdict on the values that a replay found in an epoch.
    {"answer", R"sql(
  replay INTEGER NOT NULL REFERENCES replay ON DELETE CASCADE,
  epoch INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  PRIMARY KEY (replay, epoch)
)sql",
     "STRICT, WITHOUT ROWID"},
    // Values that are numbers, many in one row (database/values/series_blocks.h).
    {"block", R"sql(
  id INTEGER PRIMARY KEY,
  series INTEGER NOT NULL REFERENCES series ON DELETE CASCADE,
  first_epoch INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_epoch INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  count INTEGER NOT NULL,
  content BLOB NOT NULL,
  UNIQUE (series, first_epoch, first_step)
)sql",
     "STRICT",
     // This old view does not include values in blocks.
     "DROP VIEW IF EXISTS logged;"},
    // Replays that were fetched into a run recorded here.
    {"fetched_replay", R"sql(
  replay INTEGER PRIMARY KEY REFERENCES replay ON DELETE CASCADE,
  place TEXT NOT NULL,
  since_us INTEGER NOT NULL
)sql",
     "STRICT"},
    // The verdicts that fetched replays claim. `answer` has those that this store trusts.
    {"claimed_answer", R"sql(
  replay INTEGER NOT NULL REFERENCES replay ON DELETE CASCADE,
  epoch INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  PRIMARY KEY (replay, epoch)
)sql",
     "STRICT, WITHOUT ROWID"},
    // Series of values that were set apart, and the name under which they were logged.
    {"apart", R"sql(
  series INTEGER PRIMARY KEY REFERENCES series ON DELETE CASCADE,
  of TEXT NOT NULL,
  replay INTEGER NOT NULL,
  why INTEGER NOT NULL
)sql",
     "STRICT"},
    // Deleted rows of `checkpoint`. `layout` is no foreign key, because old versions, which do not
    // know this table, remove layouts that only it uses.
    {"discarded", R"sql(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  kind INTEGER NOT NULL,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  loop TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  digest BLOB NOT NULL,
  layout INTEGER NOT NULL,
  chunks BLOB NOT NULL,
  discarded_us INTEGER NOT NULL,
  collected_us INTEGER,
  UNIQUE (run, id)
)sql",
     "STRICT",
     R"sql(
CREATE INDEX IF NOT EXISTS discarded_by_place ON discarded (run, main_loop, iteration);
)sql"},
    // Checkpoints that a replay, named by its key, has computed again, so that they need not be
    // stored: the event `proof`.
    {"proof", R"sql(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  replay TEXT NOT NULL,
  event BLOB NOT NULL
)sql",
     "STRICT",
     R"sql(
CREATE INDEX IF NOT EXISTS proof_by_run ON proof (run);
)sql"},
    // Logged objects that were not fetched with their run, and the place where they are.
    {"absent_object", R"sql(
  digest BLOB PRIMARY KEY,
  place TEXT NOT NULL
)sql",
     "STRICT, WITHOUT ROWID"},
    // Chunks whose records came from elsewhere. Their digest is right, but an attacker may have
    // chosen the bytes to match it, so a recording that has the same digest stores its own record.
    // `chunk` is no foreign key, because `repair` moves a chunk by deleting and inserting its row.
    {"foreign_chunk", R"sql(
  chunk INTEGER PRIMARY KEY
)sql",
     "STRICT"},
    {"strategy", R"sql(
  run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  num_to_keep INTEGER,
  attribute TEXT NOT NULL,
  score_order INTEGER NOT NULL,
  tie INTEGER NOT NULL
)sql",
     "STRICT"},
    {"saved", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  path TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  step INTEGER NOT NULL,
  inner TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (run, number),
  UNIQUE (run, name),
  UNIQUE (run, path, epoch, step, inner, ordinal)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"score", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL,
  PRIMARY KEY (run, number, name)
)sql",
     "STRICT, WITHOUT ROWID"},
    // Forked runs: their record before that iteration is a copy of another run's.
    {"fork", R"sql(
  run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  parent TEXT NOT NULL,
  main_loop INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  exact INTEGER NOT NULL
)sql",
     "STRICT"},
    // Labels that users gave to runs. Those of a group are at the run of rank 0.
    {"label", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  said_us INTEGER NOT NULL,
  PRIMARY KEY (run, kind, name)
)sql",
     "STRICT, WITHOUT ROWID",
     R"sql(
CREATE INDEX IF NOT EXISTS label_removed ON label (run) WHERE kind = 3;
)sql"},
    // Files that runs have read and written: 0 and 1.
    {"used_file", R"sql(
  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  use INTEGER NOT NULL,
  name TEXT NOT NULL,
  digest BLOB NOT NULL,
  source TEXT NOT NULL,
  kind INTEGER NOT NULL,
  place TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  PRIMARY KEY (run, use, name, digest, source)
)sql",
     "STRICT, WITHOUT ROWID",
     R"sql(
CREATE INDEX IF NOT EXISTS used_file_by_digest ON used_file (digest, use);
CREATE INDEX IF NOT EXISTS used_file_by_source ON used_file (source) WHERE source <> '';
)sql"},
    {"rank_run", R"sql(
  leader INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  run INTEGER NOT NULL UNIQUE REFERENCES run ON DELETE CASCADE,
  world INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  PRIMARY KEY (leader, rank)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"rank_launch", R"sql(
  leader INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  launch TEXT NOT NULL,
  started_us INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  version TEXT NOT NULL,
  main_loop INTEGER,
  iteration INTEGER,
  epoch INTEGER,
  boundary INTEGER,
  loop TEXT,
  step INTEGER
)sql",
     "STRICT"},
    {"rank_check", R"sql(
  leader INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  iteration INTEGER NOT NULL
)sql",
     "STRICT"},
    kEvaluator,
    kJob,
    kJobResult,
    // Results that came with a fetched run, by the run's key. They do not count for other runs with
    // the same content.
    {"fetched_result", R"sql(
  job INTEGER NOT NULL REFERENCES job ON DELETE CASCADE,
  run TEXT NOT NULL,
  PRIMARY KEY (job, run)
)sql",
     "STRICT, WITHOUT ROWID"},
    kEvaluationLog,
};

/// Indexes for `runs_that_may_meet`. Catalogs of single runs do not have them.
constexpr const char* kSearched = R"sql(
CREATE INDEX IF NOT EXISTS metric_by_value ON metric (name, last, minimum, maximum, run);
CREATE INDEX IF NOT EXISTS argument_by_number ON argument (name, CAST(value AS REAL));
)sql";

constexpr LaterTable kOfQueue[] = {
    kEvaluator,
    kJob,
    kJobResult,
    kEvaluationLog,
    {"watch", R"sql(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  directory TEXT NOT NULL,
  spec TEXT NOT NULL,
  arguments TEXT NOT NULL,
  began_us INTEGER NOT NULL,
  UNIQUE (directory, spec, arguments)
)sql",
     "STRICT"},
    {"sighting", R"sql(
  watch INTEGER NOT NULL REFERENCES watch ON DELETE CASCADE,
  path TEXT NOT NULL,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  content BLOB,
  PRIMARY KEY (watch, path)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"watcher", R"sql(
  key TEXT PRIMARY KEY,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  workers INTEGER NOT NULL,
  began_us INTEGER NOT NULL,
  stop INTEGER NOT NULL
)sql",
     "STRICT, WITHOUT ROWID"},
    {"watcher_place", R"sql(
  watcher TEXT NOT NULL REFERENCES watcher ON DELETE CASCADE,
  place TEXT NOT NULL,
  spec TEXT NOT NULL,
  PRIMARY KEY (watcher, place, spec)
)sql",
     "STRICT, WITHOUT ROWID"},
    {"queue", R"sql(
  name TEXT PRIMARY KEY,
  life TEXT NOT NULL
)sql",
     "STRICT, WITHOUT ROWID"},
    {"queue_job", R"sql(
  queue TEXT NOT NULL,
  content BLOB NOT NULL,
  evaluator INTEGER NOT NULL REFERENCES evaluator,
  arguments TEXT NOT NULL,
  path TEXT NOT NULL,
  priority INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (queue, content, evaluator, arguments)
)sql",
     "STRICT, WITHOUT ROWID"},
};

}  // namespace

const std::span<const LaterTable> kLaterTables = kTables;
const std::span<const LaterTable> kQueueTables = kOfQueue;
const DatabaseForm kCatalogForm{"catalog", kApplicationId, kSchema, kTables, "journal", kSearched};
const DatabaseForm kRunCatalogForm{"catalog", kApplicationId, kSchema, kTables, "journal"};
const DatabaseForm kQueueForm{"queue", kQueueApplicationId, "", kOfQueue, "job"};

}  // namespace flor::store
