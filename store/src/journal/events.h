// Events: the contents of the journals of runs, one frame each. The index is made by applying them
// in order. docs/internals/format.md describes their fields.
//
// An event says what happened, in terms of the run itself (loops, places, digests, keys), never by
// numbers of rows, so that it means the same in every index.
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

/// On disk: append only.
enum class EventKind : std::uint16_t {
  piece = 0,  ///< the beginning of the payload of the next frame that is none
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
  // 12 is free
  end = 13,
  object = 14,
  found = 15,  ///< as `values`: counts with the frame `parts` that follows
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
};

/// Calls `visit(kind, bytes)` for each frame of an event: as many pieces as it takes, and the rest.
template <typename Visit>
void in_frames(EventKind kind, std::span<const std::byte> payload, const Visit& visit) {
  while (payload.size() > kFrameBytesMax) {
    visit(static_cast<std::uint16_t>(EventKind::piece), payload.first(kFrameBytesMax));
    payload = payload.subspan(kFrameBytesMax);
  }
  visit(static_cast<std::uint16_t>(kind), payload);
}

/// First in each journal.
struct WriterEvent {
  static constexpr auto kKind = EventKind::writer;
  std::string run;          ///< key
  std::int64_t number = 0;  ///< of the writer's directory
  std::int64_t process = 0;
  std::string host;
  std::string flor;  ///< version
  /// When the run began, where the first event that it has is a later one; else 0.
  std::int64_t began_us = 0;
};

struct RunEvent {
  static constexpr auto kKind = EventKind::run;
  std::string key;
  NewRun start;        ///< `rank->group` is not kept
  std::string leader;  ///< of a rank but the first: key of the first one's run
  std::optional<RunBuild> build = {};
  RunOrigin origin = {};
};

struct ArgumentEvent {
  static constexpr auto kKind = EventKind::argument;
  Argument argument;  ///< as `Argument::recorded` gives it
};

/// What the run has read. Its `use` is that of the event.
struct InputEvent {
  static constexpr auto kKind = EventKind::input;
  UsedFile file;
};
/// What the run has written; replaces the output of this name.
struct OutputEvent {
  static constexpr auto kKind = EventKind::output;
  UsedFile file;
};

struct ProgressEvent {
  static constexpr auto kKind = EventKind::progress;
  Progress progress;
};

/// Values of one series, in columns. A value whose text no block takes is alone in an event.
struct ValuesEvent {
  static constexpr auto kKind = EventKind::values;
  std::string name, path;
  std::string replay;  ///< key of the replay that found them; empty: the run recorded them
  std::vector<std::byte> block;
  // Instead of a block:
  std::string text;
  std::int64_t epoch = -1, step = -1, ordinal = 0;
  std::string inner;
  ValueType type = ValueType::text;
};

/// The part of a pack that is durable with an event.
struct PackMark {
  std::string name;
  std::uint64_t bytes = 0;
};

/// A checkpoint that is complete: its chunks are in packs, or were before.
struct CheckpointEvent {
  static constexpr auto kKind = EventKind::checkpoint;
  CheckpointInfo info;  ///< without `id`
  Digest layout;
  std::vector<std::byte> items;  ///< the layout; empty: this journal has it already
  std::vector<Digest> chunks;
  std::vector<PackMark> packs;
  bool foreign =
      false;  ///< fetched or imported: records that came from elsewhere may be its chunks
  /// The next checkpoint of the same stream in this journal may name chunks of this one without
  /// asking the index; 0: none does.
  std::int64_t stream = 0;
};

/// A logged object.
struct ObjectEvent {
  static constexpr auto kKind = EventKind::object;
  Digest digest;
  std::uint64_t raw_bytes = 0, stored_bytes = 0;
  std::vector<std::byte> items;
  std::vector<Digest> chunks;
  std::vector<PackMark> packs;
  bool foreign = false;  ///< as in CheckpointEvent
};

/// Names the state that a checkpoint has, so that a later one in its place is another.
struct CheckpointName {
  CheckpointKey key;
  Digest digest;
};
/// Compressed: an event that frees space on a full disk must be small.
struct CheckpointNames : std::vector<CheckpointName> {
  using std::vector<CheckpointName>::vector;
};
struct DiscardEvent {
  static constexpr auto kKind = EventKind::discard;
  std::int64_t at_us = 0;
  CheckpointNames checkpoints;
};
struct UndiscardEvent {
  static constexpr auto kKind = EventKind::undiscard;
  CheckpointNames checkpoints;
};
/// The content of deleted checkpoints is about to go.
struct CollectedEvent {
  static constexpr auto kKind = EventKind::collected;
  std::int64_t at_us = 0;
  CheckpointNames checkpoints;
};
/// Checkpoints that turned out to be unusable.
struct ForgetEvent {
  static constexpr auto kKind = EventKind::forget;
  std::vector<CheckpointKey> checkpoints;
};
/// The packs hold less of the run.
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
  Resumption resumption;  ///< with `kept`
};
struct GapsEvent {
  static constexpr auto kKind = EventKind::gaps;
  std::vector<Gap> gaps;
};

struct LaunchEvent {
  static constexpr auto kKind = EventKind::launch;
  RankLaunch launch;  ///< without `group`, the run itself, and `attempt`
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
  std::string key;  ///< random: names the replay in later events
  NewReplay start;  ///< without `run`
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

/// Files that recordings of a program have written in its repository.
struct OutputsEvent {
  static constexpr auto kKind = EventKind::outputs;
  std::string repository, program;
  std::vector<std::string> paths;
};
struct BuildCommandEvent {
  static constexpr auto kKind = EventKind::build_command;
  std::string repository, program, command;
};

/// The run counts as fetched from now on.
struct OriginEvent {
  static constexpr auto kKind = EventKind::origin;
  RunOrigin origin;
};
/// Replaces all that is known of the run: by a fetched state, or by one that a repair wrote for a
/// damaged journal. Earlier events no longer count.
struct CopyEvent {
  static constexpr auto kKind = EventKind::copy;
  std::string leader;  ///< as in RunEvent
  RunOrigin origin;
  /// A file of SQLite, compressed by zstd, with the tables of the index and their rows of the run.
  std::vector<std::byte> database;
  /// Chunks of a run that was not fetched whose records came from elsewhere.
  std::vector<Digest> foreign = {};
};
/// Findings of replays elsewhere are added to the run.
struct MergeEvent {
  static constexpr auto kKind = EventKind::merge;
  RunOrigin origin;                 ///< of the replays
  std::vector<std::byte> database;  ///< as in CopyEvent, of the run as it is elsewhere
};
/// A word of a user about a run that is recorded. On disk: append only.
enum class LabelKind : std::uint8_t {
  tag = 0,      ///< the name is the tag; the value is empty once it was taken away
  note = 1,     ///< the value is the text
  name = 2,  ///< the value is the experiment that the run belongs to; of the name `was`, belonged
  removed = 3,  ///< the value is empty where the run is there, see `labels.h`
};
/// Replaces the label of this kind and name, unless that was said later.
struct LabelEvent {
  static constexpr auto kKind = EventKind::label;
  std::int64_t said_us = 0;
  LabelKind kind = LabelKind::tag;
  std::string name, value;
};
/// The last one of a sealed journal: it is whole.
struct SealedEvent {
  static constexpr auto kKind = EventKind::sealed;
  std::int64_t frames = 0;  ///< before this one
};
/// The run was removed.
struct DropEvent {
  static constexpr auto kKind = EventKind::drop;
};

/// `at_us`: when it happened, and its place among the events that all writers have for the run.
template <typename Event>
std::vector<std::byte> encode_event(std::int64_t at_us, const Event& event);
/// Throws Damaged for bytes that are no fields.
template <typename Event>
Event decode_event(std::span<const std::byte> payload);
std::int64_t event_time(std::span<const std::byte> payload);

/// The values as events of the kind `values` or `found`, each with a block, in the order in which
/// the series appear. `replay_key`: of the replay that found them, the same for all of them.
std::vector<ValuesEvent> encode_values(std::span<const Value> values, std::string_view replay_key);
/// `replay`: the number of their replay, to be entered in the values.
std::vector<Value> decode_values(const ValuesEvent& event, std::int64_t replay);

}  // namespace flor::store
