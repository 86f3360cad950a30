// The catalog: every fact about runs that is not bulk data, in one SQLite database per FLOR_HOME:
// the index of journals and packs.
// This is the only SQL of the project.
#pragma once

#include <flor/store/checkpoint.h>
#include <flor/store/ranking.h>
#include <flor/store/secrets.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace flor::store {

struct Database;  // private: a connection

/// How a run ended, as the catalog knows it; `running` and `interrupted` are distinguished by the
/// run's lock, never by a column.
enum class RunState { running, finished, failed, interrupted };
std::string_view to_string(RunState state);

/// The place of a run among those of one program that runs as several processes at once, its ranks.
/// Each rank records a run of its own; together they are a group.
struct RankPlace {
  /// The group: the id of rank 0's run. 0 in `Catalog::add_run`: rank 0 of a new group.
  std::int64_t group = 0;
  std::int64_t rank = 0, world = 1;  ///< 0 <= rank < world
  bool operator==(const RankPlace&) const = default;
};

/// The facts of a run that are known when it starts. Times are Unix time in microseconds.
struct NewRun {
  std::string experiment;  ///< NAME of --flor NAME
  std::int64_t started_us = 0;
  std::string commit;                ///< 40 hex digits, empty with --flor_no_git
  std::string repository;            ///< root of the work tree, or the working directory
  std::string directory;             ///< working directory, absolute
  std::string program;               ///< executable, absolute
  std::string program_digest;        ///< hex digest of the executable's content
  RecordedCommand command;           ///< argv
  std::map<std::string, std::string> environment;  ///< of relevance: threads, versions, host
  std::optional<RankPlace> rank = {};              ///< of a program that ran as several processes
  std::string key;                                 ///< of `new_run_key`; empty: `add_run` makes one
};

/// 16 hex digits, by which people and lock files name a run.
std::string new_run_key();

/// How the program of a run was built, as the program itself says (flor_instrument of CMake).
struct RunBuild {
  std::string recipe;  ///< JSON, see docs/internals/format.md
  std::string remark;  ///< why the program is not of the recorded sources; empty if it is
};

/// The source of a run, as stated by the store that receives it, never by the data that arrives. On
/// disk: append only.
struct RunOrigin {
  enum class Kind : std::uint8_t { recorded = 0, fetched = 1, imported = 2 };
  Kind kind = Kind::recorded;
  std::string from;           ///< URL of the object store, or the imported file
  std::int64_t since_us = 0;  ///< when it came; 0 if it was recorded here
  /// Its program ran under the eyes of this home's user.
  bool recorded_here() const { return kind == Kind::recorded; }
  /// Another machine may have written the record of the run.
  bool from_elsewhere() const { return kind == Kind::fetched; }
  bool operator==(const RunOrigin&) const = default;
};
std::string_view to_string(RunOrigin::Kind kind);

struct Run {
  std::int64_t id = 0;  ///< rowid
  std::string key;      ///< 16 hex digits; people use a prefix
  NewRun start;
  RunOrigin origin;
  RunState state = RunState::running;
  std::optional<std::int64_t> finished_us;
  std::string message;             ///< why it failed
  std::string degraded;            ///< checkpoints and values not stored (print_gaps); empty if
                                   ///< none
  std::int64_t epochs = 0;         ///< complete main-loop iterations, all main loops together
  std::int64_t checkpoints = 0;    ///< stored ones
  std::uint64_t raw_bytes = 0;     ///< of all checkpoints
  std::uint64_t stored_bytes = 0;  ///< added to the packs by this run
  std::vector<std::string> tags = {};  ///< given by users, sorted; of a group those of rank 0
  std::string note = {};               ///< likewise
  /// The recorded fact that cannot be read, and is empty here: "its command cannot be read (x)".
  /// Such a run is not executed. Empty if all can.
  std::string unreadable = {};
};

/// How much of each run `Catalog::runs` returns.
enum class RunDetail {
  all,
  /// The fields that a listing shows: `repository`, `program`, `program_digest`, `command` and
  /// `environment` stay empty, as copying them is most of what a long listing would cost.
  summary,
};

/// Which runs of a group `Catalog::runs` returns. Runs without a group are always among them.
enum class RunRanks {
  all,
  first,  ///< one of a group: rank 0's, or the lowest that is left
};

/// Whether runs are meant that users have removed and garbage collection has not dropped yet.
enum class RunPresence {
  there,    ///< those that were not removed
  removed,  ///< only the others
};

/// Which runs `Catalog::each_run` reads, newest first, and how much of each.
struct RunListing {
  std::string_view experiment = {};  ///< empty: of all
  std::size_t limit = SIZE_MAX;
  RunDetail detail = RunDetail::all;
  RunRanks ranks = RunRanks::all;
  /// Only those of these ids, which are in falling order.
  std::optional<std::span<const std::int64_t>> among = {};
  RunPresence presence = RunPresence::there;
};

/// The values are on disk: append only.
enum class ValueType : std::uint8_t {
  boolean = 0,
  integer = 1,
  real = 2,
  text = 3,
  json = 4,
  tensor = 5,     ///< value: reference of an object (CheckpointWriter::write_object)
  histogram = 6,  ///< value: JSON {"edges": [...], "counts": [...], ...}
  image = 7,      ///< value: reference of an object, u8 [height, width, channels]
  table = 8,      ///< value: JSON {"columns": [...], "rows": [[...]], ...}
};
std::string_view to_string(ValueType type);

using Scalar = std::variant<std::int64_t, double, std::string>;

/// Where a value was logged. Outside every loop `path` is empty and the indices are -1.
struct Place {
  std::string path;  ///< "epoch/train"; "epoch/train~2" for a second execution in an iteration
  std::int64_t epoch = -1;  ///< iteration of the main loops, counted over all of them, 0-based
  std::int64_t step = -1;   ///< index in the nested loop
  std::string inner;        ///< indices of deeper loops, "4" or "4,0"; empty if there is none
  bool operator==(const Place&) const = default;
};

/// How far a value can be trusted; the smaller, the better. On disk: append only.
enum class ValueVerdict : std::uint8_t {
  recorded = 0,
  verified = 1,    ///< an execution found it, or the same
  proven = 2,      ///< the sources show that only registered state was read
  unverified = 3,  ///< neither
  doubtful = 4,    ///< of a replay that differs, or of a program that computes something else
};
std::string_view to_string(ValueVerdict verdict);

/// A logged value. (run, name, place, ordinal) identifies it: `ordinal` counts the values of this
/// name at exactly this place.
struct Value {
  std::string name;
  Place place;
  std::int64_t ordinal = 0;
  ValueType type = ValueType::real;
  Scalar value;             ///< boolean, integer: int64; real: double; others: string
  std::int64_t replay = 0;  ///< 0: logged by the recorded run; else the replay that found it
  /// The job whose evaluator found it in the checkpoint of this place; 0: it was logged.
  std::int64_t job = 0;
  ValueVerdict verdict = ValueVerdict::recorded;  ///< when it is read; not of a job's
};

struct Argument {
  std::string name;
  std::string type;   ///< "int", "real", "bool", "text"; "secret": the value is masked
  std::string value;  ///< as text that parses back to the same value

  bool is_secret() const { return type == "secret"; }
  /// As it enters the record: the value of a secret masked.
  Argument recorded() const;
};

/// One execution of a nested loop.
struct LoopExecution {
  std::int64_t main_loop = 0;
  std::int64_t iteration = 0;   ///< within the main loop
  std::string loop;             ///< as in CheckpointKey
  std::int64_t iterations = 0;  ///< begun
  bool broke = false;           ///< left by break or return, not by exhaustion
  double seconds = 0;
};

/// A main loop as far as it got.
struct MainLoop {
  std::int64_t ordinal = 0;
  std::string name;
  std::int64_t first_epoch = 0;  ///< number of iterations of the main loops before it
  std::int64_t iterations = 0;   ///< complete ones
  bool ended = false;            ///< the loop was left; else the run stopped inside it
  bool broke = false;
};

/// A complete main-loop iteration.
struct Iteration {
  std::int64_t main_loop = 0;
  std::int64_t iteration = 0;
  double seconds = 0;         ///< wall time of the body, checkpointing included
  double record_seconds = 0;  ///< of these, spent by Flor in the training thread
};

/// Why the checkpoints of an iteration are stored, or not. The values are on disk: append only.
enum class StorageReason : std::uint8_t {
  worthwhile = 1,   ///< stored: the budget allows it, and replays gain by it
  last = 2,         ///< stored: the last iteration of its loop
  end = 3,          ///< it turned out to be the last: only its boundary is stored
  every = 4,        ///< stored: --flor_every N
  forced = 5,       ///< stored: asked for while the program ran
  budget = 6,       ///< not stored: recording has cost as much as it may, or would then
  gain = 7,         ///< not stored: it would cost more than replays gain
  spread = 8,       ///< not stored: the budget goes further when it is spread
  late = 9,         ///< not stored: an earlier one was still being written
  unmeasured = 10,  ///< not stored: the cost was not known yet
  not_every = 11,   ///< not stored: --flor_every N
  degraded = 12,    ///< not stored: no checkpoint could be written then
  measured = 13,    ///< stored: the first of a resumed run, to measure the cost
  ranks = 14,       ///< not stored: another rank of the group decided so first
};
bool is_stored(StorageReason reason);

/// Consecutive iterations of a main loop with one reason.
struct StorageDecision {
  std::int64_t main_loop = 0;
  std::int64_t first = 0, last = 0;  ///< iterations, both included
  StorageReason reason = StorageReason::worthwhile;
  double cost = 0;  ///< seconds of recording up to the last of them, without forced ones
  double computed = 0;  ///< seconds of computing until then
};

/// Consecutive epochs of which checkpoints or values could not be stored.
struct Gap {
  std::int64_t first = 0, last = 0;  ///< epochs, both included; -1: outside of the main loops
  bool values = false;               ///< values are missing, too; else only checkpoints are
  RecordedText why = {};             ///< the error that began it
  bool operator==(const Gap&) const = default;
};
/// "epochs 17..19 not stored", "epoch 3 not stored; values of epochs 5..6 lost"; empty for none.
std::string print_gaps(std::span<const Gap> gaps);

/// The cost of recording a run, in seconds, and the quantities that decide about its checkpoints.
struct Recording {
  std::int64_t every = 0;      ///< --flor_every N; 0: adaptive
  double epsilon = 0;          ///< share of the computing time that recording may take
  double materialization = 0;  ///< M: time that storing an iteration takes from the training
  double computation = 0;      ///< C: of an iteration, without Flor
  double restore_factor = 0;   ///< c: restoring takes c * M
  double cost = 0;             ///< of recording that the budget covers
  double computed = 0;         ///< in all main loops, without Flor
  double forced = 0;           ///< of checkpoints that are stored in any case: first, last,
                               ///< --flor_every
  double startup = 0;          ///< before the program's first statement after flor::init
  std::int64_t iterations = 0, stored = 0;  ///< main-loop iterations, and those with checkpoints
  // How often the writer was late, and how it was hurried.
  std::int64_t waits = 0;                       ///< the training thread had to wait for it
  std::int64_t hurried = 0, fast = 0, raw = 0;  ///< priority, a cheaper codec, no codec
};

/// The progress of a run since it was last written down.
struct Progress {
  std::vector<MainLoop> loops;
  std::vector<Iteration> iterations;
  std::vector<LoopExecution> executions;
  std::vector<StorageDecision> decisions = {};  ///< replace those with the same first iteration
  std::optional<Recording> recording = {};
  bool empty() const {
    return loops.empty() && iterations.empty() && executions.empty() && decisions.empty() &&
           !recording;
  }
};

/// Where an interrupted run continues when it is resumed: everything before it is durable.
struct ResumePoint {
  std::int64_t main_loop = 0;  ///< the first main loop that is not complete
  std::int64_t iteration = 0;  ///< its first iteration that is not complete
  std::int64_t epoch = 0;      ///< the same, counted over all main loops
  /// The boundary before that iteration is stored; else the main loop begins as if for the first
  /// time.
  bool boundary = false;
  // In the middle of that iteration, if `loop` is not empty:
  std::string loop = {};               ///< the nested loop in which it continues
  std::int64_t step = 0;               ///< number of its complete iterations
  std::vector<std::string> kept = {};  ///< nested loops of the iteration that had ended before
};

/// Where a run was forked from: its record before epoch `epoch` is a copy of another run's.
struct Fork {
  std::string parent;  ///< key of that run
  /// The main loop's iteration with which the run's own record begins, and its epoch.
  std::int64_t main_loop = 0, iteration = 0, epoch = 0;
  /// True if it has the parent's arguments, sources and libraries: its program would compute the
  /// copied epochs to the same values.
  bool exact = false;

  /// The first epoch that the run's program computes as recorded.
  std::int64_t first() const { return exact ? 0 : epoch; }
  /// True for an iteration before that.
  bool is_others(std::int64_t loop, std::int64_t of_loop) const {
    return !exact && (loop < main_loop || (loop == main_loop && of_loop < iteration));
  }
};

/// A process that continued a run.
struct Resumption {
  std::int64_t resumed_us = 0;
  ResumePoint point;  ///< without `kept`
  std::string commit;
  std::string program_digest;
  RecordedCommand command;
};

/// A record by which the ranks of a group find each other: rank 0 writes it when it has begun, or
/// resumed, its run; the others wait for it.
struct RankLaunch {
  std::int64_t group = 0;
  std::string launch;           ///< a text common to the processes that were started together
  std::int64_t started_us = 0;  ///< when rank 0 wrote it
  std::int64_t attempt = 0;     ///< 1 for the recording, counted on when the group is resumed
  std::string commit;           ///< the sources, which rank 0 commits for all
  std::optional<ResumePoint> point = {};  ///< where all ranks continue; without `kept`
  /// The iteration before the point that all ranks compute again to compare it; -1: none. Nothing:
  /// each of them finds the same part of one.
  std::optional<std::int64_t> check = {};
};

struct NewReplay {
  std::int64_t run = 0;
  std::int64_t started_us = 0;
  std::int64_t segment = 0, segments = 1;         ///< PID and NGPUS
  std::int64_t first_epoch = 0, last_epoch = -1;  ///< both included; empty if last < first
  bool strong = false;
  std::string probes;  ///< comma-separated names of the probed loops
  std::string program_digest;
  RecordedCommand command;
  /// Replays of a run with the same question get the same answers; empty: unlike any other.
  std::string question;
};

/// A checkpoint that the program asked for (flor::save_checkpoint).
struct SavedCheckpoint {
  std::int64_t number = 0;  ///< counts those of a run, from 1
  std::string name;         ///< unique in the run; the loop of its CheckpointKey
  CheckpointKey key;
  Place place;
  std::int64_t ordinal = 0;              ///< counts those at exactly this place
  std::map<std::string, double> scores;  ///< by name of the metric; may be NaN
};

/// A checkpoint that was deleted.
struct DiscardedCheckpoint {
  CheckpointInfo info;
  std::int64_t discarded_us = 0;
  std::optional<std::int64_t> collected_us;  ///< its content is gone since then
};

/// The result of comparing a replay with the record. On disk: append only.
enum class Verdict : std::uint8_t {
  unverified = 0,  ///< there was nothing to compare
  verified = 1,    ///< all that was compared equals the record
  differs = 2,
  failed = 3,
  doubtful = 4,  ///< nothing differs, but the program computes something other than was recorded
};
std::string_view to_string(Verdict verdict);

struct ReplayResult {
  std::int64_t finished_us = 0;
  Verdict verdict = Verdict::unverified;
  std::int64_t values_compared = 0, values_different = 0;
  std::int64_t states_compared = 0, states_different = 0;
  std::int64_t values_found = 0;  ///< hindsight values
  std::string first_difference;   ///< empty if there is none
};

/// A part of a run that a replay has completed: all that was logged in it is compared and kept.
struct ReplayedPart {
  std::int64_t part = 0;  ///< an epoch, or `part_outside(n)`
  ReplayResult result;    ///< of this part alone; `finished_us` is not kept
  ValueVerdict found = ValueVerdict::unverified;  ///< of the new values in it
  double seconds = 0;
};
/// The parts that a program executes outside its main loops: before the first of them (n = 0), and
/// after the n-th.
constexpr std::int64_t part_outside(std::int64_t n) { return -1 - n; }

struct Replay {
  std::int64_t id = 0;
  NewReplay start;
  std::optional<ReplayResult> result;  ///< absent: still running or died
  /// The origin of a replay that was fetched into a run that was recorded here: its values remain
  /// unverified until a local replay has found the same.
  RunOrigin origin = {};
};

struct ValueQuery {
  std::int64_t run = 0;
  std::vector<std::string> names = {};                    ///< empty: all
  std::int64_t first_epoch = -1, last_epoch = INT64_MAX;  ///< -1: outside every loop
  bool recorded = true, hindsight = true;
  bool evaluated = false;  ///< also results of evaluators for checkpoints, see `evaluations.h`
  /// Also the answers of replays that were superseded. They and doubtful values come under names of
  /// their own: "w2 (doubtful, replay 3)".
  bool others = false;
};

/// The summary of a metric, as `flor list` shows it without reading the values.
struct MetricSummary {
  std::string name;
  ValueType type = ValueType::real;
  std::int64_t count = 0;
  Scalar last;
  double minimum = 0, maximum = 0;  ///< of numbers that are not NaN; NaN if there is none
  bool hindsight = false;           ///< true if no recorded run logged it
  bool evaluated = false;           ///< true if only evaluators found it, and no program logged it
  bool doubtful = false;            ///< doubtful values of another name, see `ValueQuery::others`
};

/// Rows that a run which ends has not written yet.
struct UnwrittenRest {
  std::span<const Value> values = {};
  Progress progress = {};
  std::optional<std::vector<Gap>> gaps = {};  ///< replace those that are known, if set
};

/// Access to the catalog. One object per process and thread of use: calls are serialised by an
/// internal mutex, so it may be shared between threads. Every write is one transaction, durable
/// when the call returns (in the journal of the run), retried while other processes hold the write
/// lock, and throws Busy when the patience ends (Store::set_patience), Damaged where SQLite says
/// so, Error for a full or read-only disk.
class Catalog {
 public:
  explicit Catalog(std::shared_ptr<Database> database);
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Recording.
  Run add_run(const NewRun& run, const std::optional<RunBuild>& build = {},
              const RunOrigin& origin = {});
  /// From now on this process writes the run's values, progress and checkpoints to its journal
  /// alone. The index, and with it the reading functions below, has them after `follow`, after any
  /// process has opened the store, and when the run ends. Locks of files must work
  /// (`Store::why_locks_fail`).
  void say_in_journal(std::int64_t run);
  /// Enters the journals that this and other processes have written into the index. False if the
  /// index cannot be written now: it stays as it is.
  bool follow() const;
  /// Adds a run whose record before `fork.epoch` is a copy of that of `fork.parent`: arguments,
  /// values, loops and checkpoints, whose content they share. Values that were logged outside of
  /// loops, what replays found, and the arguments named in `others` are left out. The run is then
  /// one that was interrupted there. Not for runs of ranks.
  Run fork_run(const Fork& fork, const NewRun& run, const std::optional<RunBuild>& build,
               std::span<const std::string> others);
  /// Nothing for a run that was not forked.
  std::optional<Fork> fork(std::int64_t run) const;
  /// The keys of the runs that were forked from the run of this key, oldest first.
  std::vector<std::string> forks_of(std::string_view key) const;
  /// Removes a run that turned out never to have started (a usage error found late).
  void drop_run(std::int64_t run);
  /// Finishes the run and writes the rest of its rows in one transaction.
  void finish_run(std::int64_t run, std::int64_t finished_us, bool failed,
                  std::string_view message, const UnwrittenRest& rest = {});
  /// Takes back `finish_run`, for a run that is resumed.
  void reopen_run(std::int64_t run);
  /// Says why the run ends before its end; it stays one that can be resumed. One transaction.
  void interrupt_run(std::int64_t run, std::string_view message, const UnwrittenRest& rest = {});
  /// Takes back `finish_run`, forgets all that was recorded after the point (findings of replays
  /// and gaps there, too), and notes which process continues. One transaction.
  void resume_run(std::int64_t run, const Resumption& resumption);
  /// Replaces the gaps of the run.
  void put_gaps(std::int64_t run, std::span<const Gap> gaps);
  /// Lets the other ranks join `launch.group`; its `attempt` is counted here.
  void open_launch(const RankLaunch& launch);
  /// The latest launch that has this text.
  std::optional<RankLaunch> find_launch(std::string_view launch) const;
  /// Says that the run takes part in the present attempt of its group. `add_run` says so by itself.
  void join_launch(std::int64_t run);
  /// A rank of the group takes part in the present attempt.
  bool has_joined(std::int64_t group, std::int64_t rank) const;
  /// The runs of a group, by rank; those that were removed are missing.
  std::vector<Run> ranks(std::int64_t group) const;
  /// State of the whole group that the run belongs to: running while a rank is, finished if all
  /// have, failed if one has; else interrupted. Of a run without ranks its own.
  RunState group_state(const Run& run) const;

  /// Secrets are masked (`Argument::recorded`).
  void add_argument(std::int64_t run, const Argument& argument);
  void put_main_loop(std::int64_t run, const MainLoop& loop);  ///< inserts or updates
  void add_iteration(std::int64_t run, const Iteration& iteration);
  void add_execution(std::int64_t run, const LoopExecution& execution);
  void add_progress(std::int64_t run, const Progress& progress);  ///< all of it, one transaction
  /// Adds values of the recorded run (replay 0) or of a replay; each replaces one of the same
  /// identity. Values of a replay also set apart values that replays with another question found
  /// under the same name and path in the same epoch, unless those have a better verdict; they never
  /// replace recorded values. Doubtful values replace nothing.
  void add_values(std::int64_t run, std::span<const Value> values);

  /// Enters a checkpoint that the program asked for; it is stored already. One that was saved at
  /// the same place, or under the same name or number, goes.
  void add_saved(std::int64_t run, const SavedCheckpoint& saved);
  /// Adds a score that came later. Throws NotFound if there is no such checkpoint; after
  /// `say_in_journal` that is not checked.
  void add_score(std::int64_t run, std::int64_t number, std::string_view metric, double value);
  void put_strategy(std::int64_t run, const CheckpointStrategy& strategy);

  /// Forgets checkpoints that turned out to be unusable; unknown keys are ignored.
  void drop_checkpoints(std::int64_t run, std::span<const CheckpointKey> keys);

  // Replaying.
  std::int64_t add_replay(const NewReplay& replay);
  void finish_replay(std::int64_t replay, const ReplayResult& result);
  /// How fast a replay restored its checkpoints.
  void add_restore_time(std::int64_t replay, std::uint64_t raw_bytes, double seconds);
  /// Completes parts of a replay together with the values found in them, in one transaction. A part
  /// that is completed twice counts once. Once a part differs, all findings of the replay are
  /// doubtful.
  void add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                    std::span<const ReplayedPart> parts);

  /// Notes that executions found the same as the replay in these epochs.
  void verify_replay(std::int64_t replay, std::span<const std::int64_t> epochs);
  /// Notes that an execution found something else: all findings of the replay become doubtful.
  void doubt_replay(std::int64_t replay, std::string_view why);

  /// The name under which this repository (or directory) recorded or resumed last.
  std::optional<std::string> last_name(std::string_view repository) const;
  /// The command that builds this program of this repository, for programs that do not know
  /// themselves how they are built; the user gave it for this run. Replaces an earlier one; one
  /// with a secret is not remembered.
  void remember_build_command(std::int64_t run, std::string_view repository,
                              std::string_view program, std::string_view command);
  std::optional<std::string> build_command(std::string_view repository,
                                           std::string_view program) const;
  /// Files that recordings of this program, the run among them, have written in the repository,
  /// relative to its root.
  void remember_outputs(std::int64_t run, std::string_view repository, std::string_view program,
                        std::span<const std::string> paths);
  std::vector<std::string> outputs(std::string_view repository,
                                   std::string_view program) const;  ///< sorted by bytes

  // Reading. Unknown ids give empty results. Removed runs are left out where runs are listed, and
  // found by their id, or with their group.
  std::vector<std::string> experiments() const;
  /// Newest first; of one experiment, or of all if `experiment` is empty.
  std::vector<Run> runs(std::string_view experiment = {}, std::size_t limit = SIZE_MAX,
                        RunDetail detail = RunDetail::all, RunRanks ranks = RunRanks::all) const;
  /// Reads the same runs into `run`, one after the other, and calls `visit` for each, until that
  /// returns false. `visit` may move the run away; its memory is reused for the next. It must not
  /// call `runs` or `each_run`. All rows are read from one state of the catalog.
  void each_run(Run& run, const std::function<bool()>& visit, const RunListing& listing = {}) const;
  /// With all ranks, but no further than `most`; of one experiment, or of all if that is empty.
  std::size_t count_runs(std::string_view experiment = {}, std::size_t most = SIZE_MAX) const;
  std::optional<Run> run(std::int64_t id) const;
  /// Resolves "3f2a" (prefix of a key, at least 4 digits), NAME, NAME~2 (two before the latest) and
  /// NAME:COMMIT (the latest at that commit, a prefix of at least 4 digits). A name wins over a
  /// key. A name never means a rank but the first of a group, and a fetched run only where no other
  /// has the name; a key means the run that has it.
  /// Throws NotFound with the nearest names, or UsageError where a prefix is ambiguous.
  Run resolve(std::string_view spec, RunPresence presence = RunPresence::there) const;
  /// The fetched runs that `spec` would mean as well, were there not others of that name; newest
  /// absent where the program did not state it
  std::vector<Run> passed_over(std::string_view spec) const;
  std::optional<RunBuild> build(std::int64_t run) const;  ///< absent where the program said nothing
  std::vector<Argument> arguments(std::int64_t run) const;
  std::vector<MainLoop> main_loops(std::int64_t run) const;
  std::vector<Iteration> iterations(std::int64_t run) const;
  std::vector<LoopExecution> executions(std::int64_t run) const;
  std::vector<StorageDecision> decisions(std::int64_t run) const;  ///< in order of the iterations
  std::vector<Gap> gaps(std::int64_t run) const;                   ///< in order of the epochs
  std::optional<Recording> recording(std::int64_t run) const;      ///< absent in old runs
  /// Raw bytes a second, of the latest replays here; absent if there was none.
  std::optional<double> restore_rate() const;
  std::vector<CheckpointInfo> checkpoints(
      std::int64_t run) const;  ///< in the order they were taken
  std::optional<CheckpointInfo> checkpoint(std::int64_t run, const CheckpointKey& key) const;
  /// Deleted checkpoints, in the order they were taken.
  std::vector<DiscardedCheckpoint> discarded(std::int64_t run) const;
  std::vector<SavedCheckpoint> saved(std::int64_t run) const;  ///< in the order of their numbers
  std::optional<CheckpointStrategy> strategy(std::int64_t run) const;
  std::optional<CheckpointInfo> last_checkpoint(std::int64_t run) const;  ///< that was taken
  std::vector<Replay> replays(std::int64_t run) const;
  std::vector<Resumption> resumptions(std::int64_t run) const;  ///< oldest first
  /// The parts that replays with this question have completed, in order; the latest result for
  /// each. Parts whose values another question has replaced since are left out.
  std::vector<ReplayedPart> replayed(std::int64_t run, std::string_view question) const;
  std::vector<ReplayedPart> replayed_by(std::int64_t replay) const;
  /// Ordered by epoch, step, inner, name, ordinal.
  std::vector<Value> values(const ValueQuery& query) const;
  /// In the order in which the names were first logged; then results of evaluators, by name.
  std::vector<MetricSummary> metrics(std::int64_t run) const;

 private:
  std::shared_ptr<Database> database_;
};

}  // namespace flor::store
