// Events: what the journals of runs contain, one event per frame. The index is built by applying
// them in order. docs/internals/format.md describes their fields.
//
// An event describes what happened in terms of the run (loops, places, digests, keys), never by row
// numbers, so that it means the same in every index.
#pragma once

#include "file/frames.h"

#include <flor/store/catalog.h>
#include <flor/store/used_files.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// The numbers are on disk: append only.
enum class EventKind : std::uint16_t {
  piece = 0,  ///< a part of an event that is too long for one frame; the next frames have the rest
  writer = 1,
  run = 2,
  argument = 3,
  progress = 4,
  values = 5,
  checkpoint = 6,
  discard = 7,
  replay = 8,
  parts = 9,
  resume = 10,
  sealed = 11,
  // 12 is unused
  end = 13,
  object = 14,
  found = 15,  ///< values of a replay; they become valid with the event `parts` that follows
  gaps = 16,
  interrupt = 17,
  reopen = 18,
  launch = 19,
  join = 20,
  close_launch = 21,
  saved = 22,
  score = 23,
  strategy = 24,
  forget = 25,
  undiscard = 26,
  collected = 27,
  archived = 28,
  restoring = 29,
  replay_end = 30,
  verify = 31,
  doubt = 32,
  outputs = 33,
  build_command = 34,
  origin = 35,
  copy = 36,
  drop = 37,
  merge = 38,
  label = 39,
  // 40 and 41 are free
  input = 42,
  output = 43,
  proof = 44,
};

/// Splits an event into frames and calls `visit(kind, bytes)` for each: pieces, then the last
/// frame.
template <typename Visit>
void in_frames(EventKind kind, std::span<const std::byte> payload, const Visit& visit) {
  while (payload.size() > kFrameBytesMax) {
    visit(static_cast<std::uint16_t>(EventKind::piece), payload.first(kFrameBytesMax));
    payload = payload.subspan(kFrameBytesMax);
  }
  visit(static_cast<std::uint16_t>(kind), payload);
}

/// The first event of each journal: who writes it.
struct WriterEvent {
  static constexpr auto kKind = EventKind::writer;
  std::string run;          ///< key
  std::int64_t number = 0;  ///< name of the writer's directory
  std::int64_t process = 0;
  std::string host;
  std::string flor;  ///< version of Flor
  /// If the first event in this journal came after the run's beginning, when the run began; else 0.
  /// In Unix microseconds.
  std::int64_t began_us = 0;
};

struct RunEvent {
  static constexpr auto kKind = EventKind::run;
  std::string key;
  NewRun start;        ///< its `rank->group` is not stored
  std::string leader;  ///< only for ranks other than the first: key of the first rank's run
  std::optional<RunBuild> build = {};
  RunOrigin origin = {};
};

struct ArgumentEvent {
  static constexpr auto kKind = EventKind::argument;
  Argument argument;  ///< masked, as `Argument::recorded` returns it
};

/// The run has read this. The event stands for its `use`.
struct InputEvent {
  static constexpr auto kKind = EventKind::input;
  UsedFile file;
};
/// The run has written this. Replaces the output of this name.
struct OutputEvent {
  static constexpr auto kKind = EventKind::output;
  UsedFile file;
};

struct ProgressEvent {
  static constexpr auto kKind = EventKind::progress;
  Progress progress;
};

/// Values of one series as a block of columns. A value whose text is too long for a block has an
/// event of its own.
struct ValuesEvent {
  static constexpr auto kKind = EventKind::values;
  std::string name, path;
  std::string replay;  ///< key of the replay that found the values; empty if the run recorded them
  std::vector<std::byte> block;
  // For a value without a block:
  std::string text;
  std::int64_t epoch = -1, step = -1, ordinal = 0;
  std::string inner;
  ValueType type = ValueType::text;
};

/// A pack, and how many bytes of it are durable when the event is written.
struct PackMark {
  std::string name;
  std::uint64_t bytes = 0;
};

/// A complete checkpoint: all its chunks are in packs.
struct CheckpointEvent {
  static constexpr auto kKind = EventKind::checkpoint;
  CheckpointInfo info;  ///< its `id` is not stored
  Digest layout;
  std::vector<std::byte> items;  ///< the encoded layout; empty if an earlier event of this journal
                                 ///< has it
  std::vector<Digest> chunks;
  std::vector<PackMark> packs;
  bool foreign = false;  ///< fetched or imported, so that its chunks may be records from elsewhere
  /// Identifies a sequence of checkpoints in this journal: the next one of the same stream may
  /// refer to chunks of this one without asking the index. 0: none may.
  std::int64_t stream = 0;
};

/// A logged object (a tensor or an image).
struct ObjectEvent {
  static constexpr auto kKind = EventKind::object;
  Digest digest;
  std::uint64_t raw_bytes = 0, stored_bytes = 0;
  std::vector<std::byte> items;
  std::vector<Digest> chunks;
  std::vector<PackMark> packs;
  bool foreign = false;  ///< true if it was fetched or imported
};

/// A list of checkpoints. Encoded compressed, because an event that frees space on a full disk must
/// be small.
struct CheckpointNames : std::vector<CheckpointName> {
  using std::vector<CheckpointName>::vector;
};
struct DiscardEvent {
  static constexpr auto kKind = EventKind::discard;
  std::int64_t at_us = 0;
  CheckpointNames checkpoints;
};
/// A replay has computed these checkpoints again, bit for bit, walking there from ones that stay.
struct ProofEvent {
  static constexpr auto kKind = EventKind::proof;
  std::string replay;  ///< key of the replay
  CheckpointNames checkpoints;
  std::map<std::string, std::string> environment;  ///< of the process that computed them
};
struct UndiscardEvent {
  static constexpr auto kKind = EventKind::undiscard;
  CheckpointNames checkpoints;
};
/// Garbage collection is about to remove the content of deleted checkpoints.
struct CollectedEvent {
  static constexpr auto kKind = EventKind::collected;
  std::int64_t at_us = 0;
  CheckpointNames checkpoints;
};
/// Checkpoints that turned out to be unusable are forgotten.
struct ForgetEvent {
  static constexpr auto kKind = EventKind::forget;
  std::vector<CheckpointKey> checkpoints;
};
/// The run was archived: its content takes less space in the packs.
struct ArchivedEvent {
  static constexpr auto kKind = EventKind::archived;
  std::uint64_t saved_bytes = 0;
};

struct EndEvent {
  static constexpr auto kKind = EventKind::end;
  std::int64_t finished_us = 0;
  bool failed = false;
  RecordedText message;
};
struct InterruptEvent {
  static constexpr auto kKind = EventKind::interrupt;
  RecordedText message;
};
struct ReopenEvent {
  static constexpr auto kKind = EventKind::reopen;
};
struct ResumeEvent {
  static constexpr auto kKind = EventKind::resume;
  Resumption resumption;  ///< including `kept`
};
struct GapsEvent {
  static constexpr auto kKind = EventKind::gaps;
  std::vector<Gap> gaps;
};

struct LaunchEvent {
  static constexpr auto kKind = EventKind::launch;
  RankLaunch launch;  ///< `group` (the run itself) and `attempt` are not stored
};
struct JoinEvent {
  static constexpr auto kKind = EventKind::join;
};
struct CloseLaunchEvent {
  static constexpr auto kKind = EventKind::close_launch;
};

struct SavedEvent {
  static constexpr auto kKind = EventKind::saved;
  SavedCheckpoint saved;
};
struct ScoreEvent {
  static constexpr auto kKind = EventKind::score;
  std::int64_t number = 0;
  std::string metric;
  double value = 0;
};
struct StrategyEvent {
  static constexpr auto kKind = EventKind::strategy;
  CheckpointStrategy strategy;
};

struct ReplayEvent {
  static constexpr auto kKind = EventKind::replay;
  std::string key;  ///< random; later events refer to the replay by it
  NewReplay start;  ///< its `run` is not stored
};
struct RestoringEvent {
  static constexpr auto kKind = EventKind::restoring;
  std::string replay;
  std::uint64_t raw_bytes = 0;
  double seconds = 0;
};
struct PartsEvent {
  static constexpr auto kKind = EventKind::parts;
  std::string replay;
  std::vector<ReplayedPart> parts;
};
struct ReplayEndEvent {
  static constexpr auto kKind = EventKind::replay_end;
  std::string replay;
  ReplayResult result;
};
struct VerifyEvent {
  static constexpr auto kKind = EventKind::verify;
  std::string replay;
  std::vector<std::int64_t> epochs;
};
struct DoubtEvent {
  static constexpr auto kKind = EventKind::doubt;
  std::string replay;
  RecordedText why;
};

/// Files that recordings of this program have written in its repository.
struct OutputsEvent {
  static constexpr auto kKind = EventKind::outputs;
  std::string repository, program;
  std::vector<std::string> paths;
};
struct BuildCommandEvent {
  static constexpr auto kKind = EventKind::build_command;
  std::string repository, program, command;
};

/// From this event on the run counts as fetched.
struct OriginEvent {
  static constexpr auto kKind = EventKind::origin;
  RunOrigin origin;
};
/// Replaces everything known about the run by a complete state, which was fetched, or written by a
/// repair for a damaged journal. Earlier events are void.
struct CopyEvent {
  static constexpr auto kKind = EventKind::copy;
  std::string leader;  ///< only for ranks other than the first: key of the first rank's run
  RunOrigin origin;
  /// A SQLite file compressed by zstd. It has the tables of the index with the rows of this run.
  std::vector<std::byte> database;
  /// If the run was not fetched: those of its chunks whose records came from elsewhere.
  std::vector<Digest> foreign = {};
};
/// Adds findings of replays that were made elsewhere to the run.
struct MergeEvent {
  static constexpr auto kKind = EventKind::merge;
  RunOrigin origin;                 ///< where the replays came from
  std::vector<std::byte> database;  ///< image of the run as it is elsewhere, in the form of
                                    ///< CopyEvent::database
};
/// The kinds of labels that a user can attach to a recorded run. The numbers are on disk: append
/// only.
enum class LabelKind : std::uint8_t {
  tag = 0,      ///< the label's name is the tag; its value is empty if the tag was removed
  note = 1,     ///< the value is the text
  name = 2,     ///< the value is the run's experiment; a label called "was" has the one that it was
                ///< recorded under
  removed = 3,  ///< the value is empty if the run is present (see `labels.h`)
};
/// Sets the label of this kind and name, unless a label with a later `said_us` exists.
struct LabelEvent {
  static constexpr auto kKind = EventKind::label;
  std::int64_t said_us = 0;
  LabelKind kind = LabelKind::tag;
  std::string name, value;
};
/// The last event of a sealed journal, which shows that it is complete.
struct SealedEvent {
  static constexpr auto kKind = EventKind::sealed;
  std::int64_t frames = 0;  ///< number of frames before this one
};
/// The run was removed for good.
struct DropEvent {
  static constexpr auto kKind = EventKind::drop;
};

/// `at_us`: Unix microseconds when it happened. Events of all writers of a run are ordered by it.
template <typename Event>
std::vector<std::byte> encode_event(std::int64_t at_us, const Event& event);
/// Throws Damaged if the bytes are not fields.
template <typename Event>
Event decode_event(std::span<const std::byte> payload);
std::int64_t event_time(std::span<const std::byte> payload);

/// Encodes values as events of the kind `values` or `found`, with one block each, in the order in
/// which the series first appear. `replay_key`: the replay that found all of them; empty: recorded.
std::vector<ValuesEvent> encode_values(std::span<const Value> values, std::string_view replay_key);
/// `replay`: the id of the replay in the index, which is set in the returned values.
std::vector<Value> decode_values(const ValuesEvent& event, std::int64_t replay);

}  // namespace flor::store
