// The catalog: a SQLite database in each FLOR_HOME that indexes its journals and packs. It holds
// every fact about runs except bulk data such as checkpoint contents. Only the library behind this
// header contains SQL.
#pragma once

#include <flor/store/checkpoint.h>
#include <flor/store/keep_rules.h>
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

struct Database;  // private: the connection to the database

/// How a run ended, as the catalog knows it. `running`, `interrupted` and `imported` runs have no
/// recorded end: a run is `running` exactly while a process holds its lock (RunLock), and `imported`
/// if it was made of a log that does not tell how it ended.
enum class RunState { running, finished, failed, interrupted, imported };
std::string_view to_string(RunState state);

/// One rank of a program that trains as several processes at once. Each rank records a run of its
/// own, and these runs form a group.
struct RankPlace {
  /// Identifies the group: the id of rank 0's run. Pass 0 to `Catalog::add_run` to begin a new
  /// group with this run as rank 0.
  std::int64_t group = 0;
  std::int64_t rank = 0, world = 1;  ///< 0 <= rank < world
  bool operator==(const RankPlace&) const = default;
};

/// The facts of a run that are known when it starts. Times are Unix time in microseconds.
struct NewRun {
  std::string experiment;  ///< given as --flor NAME
  std::int64_t started_us = 0;
  std::string commit;                ///< 40 hex digits, empty with --flor_no_git
  std::string repository;            ///< root of the work tree, or the working directory
  std::string directory;             ///< working directory, absolute
  std::string program;               ///< executable, absolute
  std::string program_digest;        ///< hex digest of the executable's content
  RecordedCommand command;           ///< argv
  std::map<std::string, std::string> environment;  ///< what may affect results: threads, versions,
                                                   ///< host
  std::optional<RankPlace> rank = {};              ///< set if the program ran as several processes
  std::string key;                                 ///< made by `new_run_key`; if empty, `add_run`
                                                   ///< makes one
};

/// Returns 16 random hex digits. People, journals and lock files name a run by this key.
std::string new_run_key();

/// How the program of a run was built, as reported by the program (CMake's flor_instrument adds
/// this).
struct RunBuild {
  std::string recipe;  ///< JSON, see docs/internals/format.md
  std::string remark;  ///< why the program does not match the recorded sources; empty if it does
};

/// Where a run came from, as determined by the store that receives it. What the received data
/// claims about its origin is ignored. The values are on disk: append only.
struct RunOrigin {
  enum class Kind : std::uint8_t { recorded = 0, fetched = 1, imported = 2 };
  Kind kind = Kind::recorded;
  std::string from;           ///< URL of the object store, or path of the imported file; empty if
                              ///< recorded here
  std::int64_t since_us = 0;  ///< Unix time in microseconds when it arrived; 0 if it was recorded
                              ///< here
  /// True if the run was recorded in this home.
  bool recorded_here() const { return kind == Kind::recorded; }
  /// True if another machine may have written the record of the run.
  bool from_elsewhere() const { return kind == Kind::fetched; }
  bool operator==(const RunOrigin&) const = default;
};
std::string_view to_string(RunOrigin::Kind kind);

struct Run {
  std::int64_t id = 0;  ///< rowid
  std::string key;      ///< 16 hex digits; users may type a prefix
  NewRun start;
  RunOrigin origin;
  RunState state = RunState::running;
  std::optional<std::int64_t> finished_us;
  std::string message;             ///< why it failed or was interrupted
  std::string degraded;            ///< which checkpoints and values could not be stored, in words
                                   ///< (print_gaps); empty if all were
  std::int64_t epochs = 0;         ///< completed iterations of all main loops
  std::int64_t checkpoints = 0;    ///< number of stored checkpoints
  std::uint64_t raw_bytes = 0;     ///< length of all its checkpoints before encoding
  std::uint64_t stored_bytes = 0;  ///< added to the packs by this run
  std::vector<std::string> tags = {};  ///< given by users, sorted; a run of a group has the tags of
                                       ///< rank 0's run
  std::string note = {};               ///< given by users; a run of a group has the note of rank
                                       ///< 0's run
  /// Says which recorded fact cannot be read, as "its command cannot be read (x)"; that field is
  /// empty here, and the run is not executed again. Empty if every fact can be read.
  std::string unreadable = {};
};

/// How much of each run `Catalog::runs` returns.
enum class RunDetail {
  all,
  /// All but `repository`, `program`, `program_digest`, `command` and `environment`, which stay
  /// empty: copying them is most of the cost of a long listing.
  summary,
};

/// Which runs of a group `Catalog::runs` returns. Runs without a group are always returned.
enum class RunRanks {
  all,
  first,  ///< one run of each group: that of rank 0, or of the lowest rank that still exists
};

/// Selects runs by whether a user has removed them. A removed run remains until garbage collection.
enum class RunPresence {
  there,    ///< runs that were not removed
  removed,  ///< only removed runs
};

/// Which runs `Catalog::each_run` reads, newest first, and how much of each.
struct RunListing {
  std::string_view experiment = {};  ///< empty: runs of all experiments
  std::size_t limit = SIZE_MAX;
  RunDetail detail = RunDetail::all;
  RunRanks ranks = RunRanks::all;
  /// Read only runs with these ids, which must be in descending order.
  std::optional<std::span<const std::int64_t>> among = {};
  RunPresence presence = RunPresence::there;
};

/// The type of a logged value. The numbers are on disk: append only.
enum class ValueType : std::uint8_t {
  boolean = 0,
  integer = 1,
  real = 2,
  text = 3,
  json = 4,
  tensor = 5,     ///< the value is the reference of an object (CheckpointWriter::write_object)
  histogram = 6,  ///< the value is JSON {"edges": [...], "counts": [...], ...}
  image = 7,      ///< the value is the reference of an object, u8 [height, width, channels]
  table = 8,      ///< the value is JSON {"columns": [...], "rows": [[...]], ...}
};
std::string_view to_string(ValueType type);

using Scalar = std::variant<std::int64_t, double, std::string>;

/// The position in the loops where a value was logged. Outside all loops `path` is empty and
/// `epoch` and `step` are -1.
struct Place {
  std::string path;  ///< names of the loops, "epoch/train"; "epoch/train~2" if "train" runs a
                     ///< second time in one epoch
  std::int64_t epoch = -1;  ///< iteration of the main loops, counted over all of them, 0-based
  std::int64_t step = -1;   ///< iteration of the nested loop, 0-based
  std::string inner;        ///< iterations of deeper loops, "4" or "4,0"; empty if there are none
  bool operator==(const Place&) const = default;
};

/// How far a value can be trusted; smaller is better. The numbers are on disk: append only.
enum class ValueVerdict : std::uint8_t {
  recorded = 0,
  verified = 1,    ///< an execution that skipped no loop produced it, or an equal value
  proven = 2,      ///< analysis of the sources shows that it depends on registered state alone
  unverified = 3,  ///< found by a replay; neither verified nor proven
  doubtful = 4,    ///< from a replay that differs from the record, or from a program that computes
                   ///< something else
};
std::string_view to_string(ValueVerdict verdict);

/// A logged value, identified by (run, name, place, ordinal). `ordinal` counts the values with this
/// name at the same place, from 0.
struct Value {
  std::string name;
  Place place;
  std::int64_t ordinal = 0;
  ValueType type = ValueType::real;
  Scalar value;             ///< boolean, integer: int64; real: double; others: string
  std::int64_t replay = 0;  ///< 0: logged by the recorded run; else the id of the replay that found
                            ///< it
  /// The job (an evaluation of the checkpoint at this place) that produced the value; 0: logged.
  std::int64_t job = 0;
  ValueVerdict verdict = ValueVerdict::recorded;  ///< set when the value is read; unused for values
                                                  ///< of a job
};

struct Argument {
  std::string name;
  std::string type;   ///< "int", "real", "bool", "text", or "secret" if the value must be masked
  std::string value;  ///< text that parses back to the same value

  bool is_secret() const { return type == "secret"; }
  /// Returns the argument as it is recorded: a secret has its value masked.
  Argument recorded() const;
};

/// One execution of a nested loop.
struct LoopExecution {
  std::int64_t main_loop = 0;
  std::int64_t iteration = 0;   ///< index within the main loop
  std::string loop;             ///< name, in the form of CheckpointKey::loop
  std::int64_t iterations = 0;  ///< number of iterations that began
  bool broke = false;           ///< left by break or return, not by exhaustion
  double seconds = 0;
};

/// A main loop, as far as it was executed.
struct MainLoop {
  std::int64_t ordinal = 0;
  std::string name;
  std::int64_t first_epoch = 0;  ///< completed iterations of all main loops before this one
  std::int64_t iterations = 0;   ///< number of completed iterations
  bool ended = false;            ///< true if the loop was left, false if the run stopped inside it
  bool broke = false;
};

/// A completed iteration of a main loop.
struct Iteration {
  std::int64_t main_loop = 0;
  std::int64_t iteration = 0;
  double seconds = 0;         ///< wall time of the loop body, including checkpointing
  double record_seconds = 0;  ///< part of `seconds` that Flor used on the training thread
};

/// Why the checkpoints of an iteration were stored or skipped. The numbers are on disk: append
/// only.
enum class StorageReason : std::uint8_t {
  worthwhile = 1,   ///< stored: the recording budget allows it, and replays become faster
  last = 2,         ///< stored: the last iteration of its loop
  end = 3,          ///< only the boundary after it is stored: the loop ended unexpectedly after
                    ///< this iteration
  every = 4,        ///< stored: --flor_every N
  forced = 5,       ///< stored: requested while the program ran
  budget = 6,       ///< not stored: recording has used up its share of time, or would by storing it
  gain = 7,         ///< not stored: storing costs more time than replays would save
  spread = 8,       ///< not stored: storing fewer, evenly spread iterations uses the budget better
  late = 9,         ///< not stored: an earlier checkpoint was still being written
  unmeasured = 10,  ///< not stored: the cost of storing had not been measured yet
  not_every = 11,   ///< not stored: --flor_every N
  degraded = 12,    ///< not stored: checkpoints could not be written at that time (see Gap)
  measured = 13,    ///< stored: the first of a resumed run, to measure the cost
  ranks = 14,       ///< not stored: another rank of the group decided so first
};
bool is_stored(StorageReason reason);

/// Consecutive iterations of a main loop that have the same StorageReason.
struct StorageDecision {
  std::int64_t main_loop = 0;
  std::int64_t first = 0, last = 0;  ///< iterations, both included
  StorageReason reason = StorageReason::worthwhile;
  /// Seconds that recording had cost by the end of `last`, without forced checkpoints.
  double cost = 0;
  double computed = 0;  ///< seconds that the program had computed by then
};

/// Consecutive epochs whose checkpoints or values could not be stored.
struct Gap {
  std::int64_t first = 0, last = 0;  ///< epochs, both included; -1: outside the main loops
  bool values = false;               ///< true if values are missing as well as checkpoints
  RecordedText why = {};             ///< the first error
  bool operator==(const Gap&) const = default;
};
/// Describes gaps: "epochs 17..19 not stored", "epoch 3 not stored; values of epochs 5..6 lost".
/// Returns an empty string if there are none.
std::string print_gaps(std::span<const Gap> gaps);

/// The cost of recording a run, in seconds, and the quantities that determine which iterations are
/// stored.
struct Recording {
  std::int64_t every = 0;      ///< --flor_every N; 0: decided by cost
  double epsilon = 0;          ///< the budget: recording may take this share of the computing time
  double materialization = 0;  ///< M: seconds of training time that storing one iteration takes
  double computation = 0;      ///< C: seconds that one iteration computes, without Flor's own work
  double restore_factor = 0;   ///< c: restoring an iteration takes c * M seconds
  double cost = 0;             ///< spent by recording on checkpoints that count against the budget
  double computed = 0;         ///< spent in all main loops, without Flor's own work
  double forced = 0;           ///< spent on checkpoints outside the budget: first, last,
                               ///< --flor_every
  double startup = 0;          ///< spent by flor::init
  std::int64_t iterations = 0, stored = 0;  ///< main-loop iterations, and how many of them have
                                            ///< checkpoints
  // How often the writing thread fell behind, and what was done about it.
  std::int64_t waits = 0;                       ///< times the training thread waited for it
  std::int64_t hurried = 0, fast = 0, raw = 0;  ///< times it was hurried by priority, by a cheaper
                                                ///< codec, by no codec
};

/// The progress of a run since the last such report was stored.
struct Progress {
  std::vector<MainLoop> loops;
  std::vector<Iteration> iterations;
  std::vector<LoopExecution> executions;
  std::vector<StorageDecision> decisions = {};  ///< each replaces a stored one with the same first
                                                ///< iteration
  std::optional<Recording> recording = {};
  bool empty() const {
    return loops.empty() && iterations.empty() && executions.empty() && decisions.empty() &&
           !recording;
  }
};

/// Where an interrupted run continues when it is resumed. Everything before this point is durable.
struct ResumePoint {
  std::int64_t main_loop = 0;  ///< the first main loop that is not complete
  std::int64_t iteration = 0;  ///< its first iteration that is not complete
  std::int64_t epoch = 0;      ///< the same iteration, counted over all main loops
  /// True if the boundary checkpoint before that iteration is stored. If false, the run enters the
  /// main loop from its beginning.
  bool boundary = false;
  // If `loop` is not empty, the run continues in the middle of that iteration:
  std::string loop = {};               ///< the nested loop to continue in
  std::int64_t step = 0;               ///< number of completed iterations of `loop`
  std::vector<std::string> kept = {};  ///< nested loops that had already ended in this iteration
};

/// Where a run was forked: its record before epoch `epoch` is a copy of the record of another run.
struct Fork {
  std::string parent;  ///< key of the run that was copied from
  /// The run's own record begins with this iteration of this main loop, which is epoch `epoch`.
  std::int64_t main_loop = 0, iteration = 0, epoch = 0;
  /// True if arguments, sources and libraries equal the parent's, so that the fork's program would
  /// compute the copied epochs to the same values.
  bool exact = false;

  /// The first epoch that the fork's own program computes as it was recorded.
  std::int64_t first() const { return exact ? 0 : epoch; }
  /// True if the iteration was copied and the fork's own program may compute it differently.
  bool is_others(std::int64_t loop, std::int64_t of_loop) const {
    return !exact && (loop < main_loop || (loop == main_loop && of_loop < iteration));
  }
};

/// The event that a process continued an interrupted run.
struct Resumption {
  std::int64_t resumed_us = 0;
  ResumePoint point;  ///< its `kept` is always empty
  std::string commit;
  std::string program_digest;
  RecordedCommand command;
};

/// A record by which the ranks of a group find each other. Rank 0 writes it after it has begun or
/// resumed its run, and the other ranks wait for it.
struct RankLaunch {
  std::int64_t group = 0;
  std::string launch;           ///< a text shared by processes that were started together
  std::int64_t started_us = 0;  ///< when rank 0 wrote it
  std::int64_t attempt = 0;     ///< 1 for the recording, one more each time the group is resumed
  std::string commit;           ///< commit of the sources, which rank 0 makes for all ranks
  std::optional<ResumePoint> point = {};  ///< where all ranks continue; its `kept` is always empty
  /// The iteration before `point` that all ranks compute again, to compare the result with the
  /// record; -1: none. Absent if only a part of an iteration is compared: each rank determines that
  /// part by itself, with the same result.
  std::optional<std::int64_t> check = {};
};

struct NewReplay {
  std::int64_t run = 0;
  std::int64_t started_us = 0;
  std::int64_t segment = 0, segments = 1;         ///< which part of the replay (PID), of how many
                                                  ///< (NGPUS)
  std::int64_t first_epoch = 0, last_epoch = -1;  ///< both included; empty if last < first
  bool strong = false;
  std::string probes;  ///< comma-separated names of the loops that it executes because something
                       ///< new is logged there
  std::string program_digest;
  RecordedCommand command;
  /// The question of the replay. Two replays of a run with equal questions get the same answers.
  /// Empty: matches no other replay.
  std::string question;
};

/// A checkpoint that the program requested by flor::save_checkpoint.
struct SavedCheckpoint {
  std::int64_t number = 0;  ///< counts the saved checkpoints of a run, from 1
  std::string name;         ///< unique in the run; equals `key.loop`
  CheckpointKey key;
  Place place;
  std::int64_t ordinal = 0;              ///< counts the saved checkpoints at the same place
  std::map<std::string, double> scores;  ///< keyed by metric; may be NaN
};

/// A checkpoint that was deleted. Its entry remains in the catalog.
struct DiscardedCheckpoint {
  CheckpointInfo info;
  std::int64_t discarded_us = 0;
  std::optional<std::int64_t> collected_us;  ///< when garbage collection removed its content;
                                             ///< absent: not yet
};

/// The result of comparing a replay with the record. The numbers are on disk: append only.
enum class Verdict : std::uint8_t {
  unverified = 0,  ///< there was nothing to compare
  verified = 1,    ///< all that was compared equals the record
  differs = 2,
  failed = 3,
  doubtful = 4,  ///< nothing differs, but the program is known to compute something other than the
                 ///< recorded one
};
std::string_view to_string(Verdict verdict);

struct ReplayResult {
  std::int64_t finished_us = 0;
  Verdict verdict = Verdict::unverified;
  std::int64_t values_compared = 0, values_different = 0;
  std::int64_t states_compared = 0, states_different = 0;
  std::int64_t values_found = 0;  ///< number of values that the record did not have
  std::string first_difference;   ///< empty if there is none
};

/// A part of a run that a replay has completed. All values logged in it are compared and stored.
struct ReplayedPart {
  std::int64_t part = 0;  ///< an epoch, or `part_outside(n)`
  ReplayResult result;    ///< counts this part alone; `finished_us` is not stored
  ValueVerdict found = ValueVerdict::unverified;  ///< verdict of the new values in this part
  double seconds = 0;
};
/// Numbers of the parts outside the main loops: n = 0 is what the program executes before the first
/// main loop, n > 0 what it executes after the n-th.
constexpr std::int64_t part_outside(std::int64_t n) { return -1 - n; }

struct Replay {
  std::int64_t id = 0;
  NewReplay start;
  std::optional<ReplayResult> result;  ///< absent: the replay is still running, or died
  /// Set if this replay was fetched into a run that was recorded here. Its values remain unverified
  /// until a local replay finds the same ones.
  RunOrigin origin = {};
};

struct ValueQuery {
  std::int64_t run = 0;
  std::vector<std::string> names = {};                    ///< empty: all names
  std::int64_t first_epoch = -1, last_epoch = INT64_MAX;  ///< both included; -1: outside all loops
  bool recorded = true, hindsight = true;
  bool evaluated = false;  ///< also results of evaluators for checkpoints (`evaluations.h`)
  /// Also values of superseded replays. They, and doubtful values, are returned under a name that
  /// says so: "w2 (doubtful, replay 3)".
  bool others = false;
};

/// The summary of a metric, as `flor list` shows it. It is computed without reading the values.
struct MetricSummary {
  std::string name;
  ValueType type = ValueType::real;
  std::int64_t count = 0;
  Scalar last;
  double minimum = 0, maximum = 0;  ///< over numbers that are not NaN; NaN if there are none
  bool hindsight = false;           ///< true if only replays logged it
  bool evaluated = false;           ///< true if only evaluators produced it
  bool doubtful = false;            ///< true if it is an entry for the doubtful values of another
                                    ///< name (`ValueQuery::others`)
};

/// The rest that an ending run has not stored yet.
struct UnwrittenRest {
  std::span<const Value> values = {};
  Progress progress = {};
  std::optional<std::vector<Gap>> gaps = {};  ///< if set, they replace the gaps stored so far
};

/// Access to the catalog. Calls are serialised by an internal mutex, so an object may be shared
/// between threads, not between processes. Each writing call is one transaction and is durable when
/// it returns (in the journal of the run). It is retried while other processes hold the write lock.
/// Throws Busy when the patience has passed (Store::set_patience), Damaged if SQLite reports
/// damage, Error if the disk is full or read-only.
class Catalog {
 public:
  explicit Catalog(std::shared_ptr<Database> database);
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Functions for recording.
  Run add_run(const NewRun& run, const std::optional<RunBuild>& build = {},
              const RunOrigin& origin = {});
  /// From this call on, this process writes the run's values, progress and checkpoints to the run's
  /// journal alone. The reading functions return them only after `follow`, after any process has
  /// opened the store, or after the run has ended. Requires that files can be locked
  /// (`Store::why_locks_fail`).
  void say_in_journal(std::int64_t run);
  /// Enters what this and other processes have written to journals into the index. Returns false,
  /// and leaves the index as it is, if it cannot be written at the moment.
  bool follow() const;
  /// Adds a run whose record before `fork.epoch` is a copy of the record of `fork.parent`:
  /// arguments, values, loops and checkpoints, which share their content. Not copied are values
  /// logged outside loops, findings of replays, and the arguments named in `others`. The new run is
  /// in the state of a run interrupted at that epoch. Not for runs of ranks.
  Run fork_run(const Fork& fork, const NewRun& run, const std::optional<RunBuild>& build,
               std::span<const std::string> others);
  /// Returns nullopt for a run that was not forked.
  std::optional<Fork> fork(std::int64_t run) const;
  /// Returns the keys of the runs that were forked from the run with this key, oldest first.
  std::vector<std::string> forks_of(std::string_view key) const;
  /// Removes a run that never really started (a usage error was found late).
  void drop_run(std::int64_t run);
  /// Marks the run as finished or failed and writes `rest`, in one transaction.
  void finish_run(std::int64_t run, std::int64_t finished_us, bool failed,
                  std::string_view message, const UnwrittenRest& rest = {});
  /// Undoes `finish_run` when a run is resumed.
  void reopen_run(std::int64_t run);
  /// Notes why the run stops early and writes `rest`, in one transaction. The run remains
  /// resumable.
  void interrupt_run(std::int64_t run, std::string_view message, const UnwrittenRest& rest = {});
  /// Continues a run: undoes `finish_run`, deletes everything recorded after the point (also
  /// findings of replays and gaps), and notes the resuming process. One transaction.
  void resume_run(std::int64_t run, const Resumption& resumption);
  /// Replaces all gaps of the run.
  void put_gaps(std::int64_t run, std::span<const Gap> gaps);
  /// Announces a launch, so that the other ranks can join `launch.group`. The catalog counts
  /// `attempt`.
  void open_launch(const RankLaunch& launch);
  /// Returns the latest launch with this text.
  std::optional<RankLaunch> find_launch(std::string_view launch) const;
  /// Notes that the run takes part in the current attempt of its group. `add_run` already does
  /// this.
  void join_launch(std::int64_t run);
  /// True if this rank of the group takes part in the current attempt.
  bool has_joined(std::int64_t group, std::int64_t rank) const;
  /// Returns the runs of a group in order of their ranks, including removed ones. Runs that were
  /// dropped, as by garbage collection, are missing.
  std::vector<Run> ranks(std::int64_t group) const;
  /// Returns the state of the group that the run belongs to: running if any rank is, else failed if
  /// any has failed, finished if all have, otherwise interrupted. For a run without ranks, its own
  /// state.
  RunState group_state(const Run& run) const;

  /// Adds an argument; a secret is masked (`Argument::recorded`).
  void add_argument(std::int64_t run, const Argument& argument);
  void put_main_loop(std::int64_t run, const MainLoop& loop);  ///< inserts or updates
  void add_iteration(std::int64_t run, const Iteration& iteration);
  void add_execution(std::int64_t run, const LoopExecution& execution);
  void add_progress(std::int64_t run, const Progress& progress);  ///< all of it in one transaction
  /// Adds values of the recorded run (replay 0) or of a replay. A value replaces one with the same
  /// identity (see Value). A replay's value also supersedes values that replays with another
  /// question found under the same name and path in the same epoch, unless those have a better
  /// verdict. A replay's value never replaces a recorded one, and a doubtful one replaces nothing.
  void add_values(std::int64_t run, std::span<const Value> values);

  /// Enters a saved checkpoint whose content is already stored. It replaces an earlier one of the
  /// run with the same place, name or number.
  void add_saved(std::int64_t run, const SavedCheckpoint& saved);
  /// Adds a score to a saved checkpoint. Throws NotFound if there is no such checkpoint, which is
  /// not checked after `say_in_journal`.
  void add_score(std::int64_t run, std::int64_t number, std::string_view metric, double value);
  void put_strategy(std::int64_t run, const CheckpointStrategy& strategy);

  /// Deletes the entries of checkpoints that turned out to be unusable. Unknown keys are ignored.
  void drop_checkpoints(std::int64_t run, std::span<const CheckpointKey> keys);

  // Functions for replaying.
  std::int64_t add_replay(const NewReplay& replay);
  void finish_replay(std::int64_t replay, const ReplayResult& result);
  /// Records how long a replay took to restore its checkpoints.
  void add_restore_time(std::int64_t replay, std::uint64_t raw_bytes, double seconds);
  /// Stores completed parts of a replay and the values found in them, in one transaction. A part
  /// that is completed twice counts once. If a part differs, all findings of the replay become
  /// doubtful.
  void add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                    std::span<const ReplayedPart> parts);

  /// Notes that an execution of these epochs found the same as the replay.
  void verify_replay(std::int64_t replay, std::span<const std::int64_t> epochs);
  /// Notes that an execution found something else than the replay; all findings of the replay
  /// become doubtful.
  void doubt_replay(std::int64_t replay, std::string_view why);

  /// Returns the experiment name that this repository (or directory) last recorded or resumed
  /// under.
  std::optional<std::string> last_name(std::string_view repository) const;
  /// Stores the command that builds this program of this repository, as given by the user for this
  /// run. It is for programs that do not report how they were built. It replaces an earlier
  /// command; a command that contains a secret is not stored.
  void remember_build_command(std::int64_t run, std::string_view repository,
                              std::string_view program, std::string_view command);
  std::optional<std::string> build_command(std::string_view repository,
                                           std::string_view program) const;
  /// Stores paths of files, relative to the root of the repository, that recordings of this program
  /// (this run and earlier ones) have written there.
  void remember_outputs(std::int64_t run, std::string_view repository, std::string_view program,
                        std::span<const std::string> paths);
  std::vector<std::string> outputs(std::string_view repository,
                                   std::string_view program) const;  ///< sorted by bytes

  // Functions for reading. An unknown id gives an empty result. Listings leave out removed runs;
  // `run` and `ranks` find them.
  std::vector<std::string> experiments() const;
  /// Returns the runs of an experiment, or all runs if `experiment` is empty, newest first.
  std::vector<Run> runs(std::string_view experiment = {}, std::size_t limit = SIZE_MAX,
                        RunDetail detail = RunDetail::all, RunRanks ranks = RunRanks::all) const;
  /// Reads the same runs as `runs`, one at a time, into `run`, and calls `visit` after each until
  /// it returns false. `visit` may move from `run`, whose memory is reused for the next one, but
  /// must not call `runs` or `each_run`. All rows come from one state of the catalog.
  void each_run(Run& run, const std::function<bool()>& visit, const RunListing& listing = {}) const;
  /// Counts the runs of an experiment, or all runs if it is empty, with each rank as a run of its
  /// own. Stops counting at `most`.
  std::size_t count_runs(std::string_view experiment = {}, std::size_t most = SIZE_MAX) const;
  std::optional<Run> run(std::int64_t id) const;
  /// Finds the run that a user means by "3f2a" (prefix of a key, at least 4 digits), NAME, NAME~2
  /// (two before the latest) or NAME:COMMIT (the latest at that commit, a prefix of at least 4
  /// digits). A name takes precedence over a key. A name finds only the first rank of a group, and
  /// a fetched run only if no other run has the name; a key finds any run. Throws NotFound with the
  /// nearest names, or UsageError if a prefix is ambiguous.
  Run resolve(std::string_view spec, RunPresence presence = RunPresence::there) const;
  /// Returns the fetched runs that `resolve(spec)` ignores because runs recorded here have the same
  /// name, newest first.
  std::vector<Run> passed_over(std::string_view spec) const;
  std::optional<RunBuild> build(std::int64_t run) const;  ///< nullopt if the program did not report
                                                          ///< it
  std::vector<Argument> arguments(std::int64_t run) const;
  std::vector<MainLoop> main_loops(std::int64_t run) const;
  std::vector<Iteration> iterations(std::int64_t run) const;
  std::vector<LoopExecution> executions(std::int64_t run) const;
  std::vector<StorageDecision> decisions(std::int64_t run) const;  ///< in order of the iterations
  std::vector<Gap> gaps(std::int64_t run) const;                   ///< in order of the epochs
  std::optional<Recording> recording(std::int64_t run) const;      ///< nullopt in old runs
  /// Returns the raw bytes per second of the latest replays in this home; nullopt if there were
  /// none.
  std::optional<double> restore_rate() const;
  /// Returns the stored checkpoints of a run in the order in which this index entered them. Of a run
  /// that was fetched, or whose index was made again, that need not be the order in which they were
  /// taken: compare their keys.
  std::vector<CheckpointInfo> checkpoints(std::int64_t run) const;
  std::optional<CheckpointInfo> checkpoint(std::int64_t run, const CheckpointKey& key) const;
  /// Returns deleted checkpoints, in the same order.
  std::vector<DiscardedCheckpoint> discarded(std::int64_t run) const;
  std::vector<SavedCheckpoint> saved(std::int64_t run) const;  ///< in the order of their numbers
  std::optional<CheckpointStrategy> strategy(std::int64_t run) const;
  std::vector<Replay> replays(std::int64_t run) const;
  std::vector<Resumption> resumptions(std::int64_t run) const;  ///< oldest first
  /// Returns the parts that replays with this question have completed, in order, each with its
  /// latest result. Parts whose values were superseded by a replay with another question are left
  /// out.
  std::vector<ReplayedPart> replayed(std::int64_t run, std::string_view question) const;
  std::vector<ReplayedPart> replayed_by(std::int64_t replay) const;
  /// Returns values ordered by epoch, step, inner, name, ordinal.
  std::vector<Value> values(const ValueQuery& query) const;
  /// Returns logged metrics in the order in which they were first logged, then results of
  /// evaluators by name.
  std::vector<MetricSummary> metrics(std::int64_t run) const;

 private:
  std::shared_ptr<Database> database_;
};

}  // namespace flor::store
