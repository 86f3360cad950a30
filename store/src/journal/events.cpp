#include "journal/events.h"

#include "base/unpack.h"
#include "journal/fields.h"
#include "journal/value_block.h"

#include <zstd.h>

#include <algorithm>
#include <map>
#include <utility>

namespace flor::store {

// The lists of fields of all events (journal/fields.h). The numbers are on disk: append only. Field
// 1 of every event is its time.

template <typename F>
void fields(F& f, RunBuild& build) {
  f(2, build.recipe);
  f(3, build.remark);
}
template <typename F>
void fields(F& f, RunOrigin& origin) {
  f(2, origin.kind);
  f(3, origin.from);
  f(4, origin.since_us);
}
template <typename F>
void fields(F& f, RankPlace& place) {
  f(2, place.rank);
  f(3, place.world);
}
template <typename F>
void fields(F& f, NewRun& run) {
  f(2, run.experiment);
  f(3, run.started_us);
  f(4, run.commit);
  f(5, run.repository);
  f(6, run.directory);
  f(7, run.program);
  f(8, run.program_digest);
  f(9, run.command);
  f(10, run.environment);
  f(11, run.rank);
}
template <typename F>
void fields(F& f, Argument& argument) {
  f(2, argument.name);
  f(3, argument.type);
  f(4, argument.value);
}
template <typename F>
void fields(F& f, UsedFile& file) {
  f(2, file.kind);
  f(3, file.name);
  f(4, file.place);
  f(5, file.bytes);
  f(6, file.files);
  f(7, file.digest);
  f(8, file.epoch);
  f(9, file.source);
}
template <typename F>
void fields(F& f, MainLoop& loop) {
  f(2, loop.ordinal);
  f(3, loop.name);
  f(4, loop.first_epoch);
  f(5, loop.iterations);
  f(6, loop.ended);
  f(7, loop.broke);
}
template <typename F>
void fields(F& f, Iteration& iteration) {
  f(2, iteration.main_loop);
  f(3, iteration.iteration);
  f(4, iteration.seconds);
  f(5, iteration.record_seconds);
}
template <typename F>
void fields(F& f, LoopExecution& execution) {
  f(2, execution.main_loop);
  f(3, execution.iteration);
  f(4, execution.loop);
  f(5, execution.iterations);
  f(6, execution.broke);
  f(7, execution.seconds);
}
template <typename F>
void fields(F& f, StorageDecision& decision) {
  f(2, decision.main_loop);
  f(3, decision.first);
  f(4, decision.last);
  f(5, decision.reason);
  f(6, decision.cost);
  f(7, decision.computed);
}
template <typename F>
void fields(F& f, Recording& recording) {
  f(2, recording.every);
  f(3, recording.epsilon);
  f(4, recording.materialization);
  f(5, recording.computation);
  f(6, recording.restore_factor);
  f(7, recording.cost);
  f(8, recording.computed);
  f(9, recording.forced);
  f(10, recording.startup);
  f(11, recording.iterations);
  f(12, recording.stored);
  f(13, recording.waits);
  f(14, recording.hurried);
  f(15, recording.fast);
  f(16, recording.raw);
}
template <typename F>
void fields(F& f, Progress& progress) {
  f(2, progress.loops);
  f(3, progress.iterations);
  f(4, progress.executions);
  f(5, progress.decisions);
  f(6, progress.recording);
}
template <typename F>
void fields(F& f, Gap& gap) {
  f(2, gap.first);
  f(3, gap.last);
  f(4, gap.values);
  f(5, gap.why);
}
template <typename F>
void fields(F& f, ResumePoint& point) {
  f(2, point.main_loop);
  f(3, point.iteration);
  f(4, point.epoch);
  f(5, point.boundary);
  f(6, point.loop);
  f(7, point.step);
  f(8, point.kept);
}
template <typename F>
void fields(F& f, Resumption& resumption) {
  f(2, resumption.resumed_us);
  f(3, resumption.point);
  f(4, resumption.commit);
  f(5, resumption.program_digest);
  f(6, resumption.command);
}
template <typename F>
void fields(F& f, RankLaunch& launch) {
  f(2, launch.launch);
  f(3, launch.started_us);
  f(4, launch.commit);
  f(5, launch.point);
  f(6, launch.check);
}
template <typename F>
void fields(F& f, CheckpointKey& key) {
  f(2, key.kind);
  f(3, key.main_loop);
  f(4, key.iteration);
  f(5, key.loop);
}
template <typename F>
void fields(F& f, CheckpointInfo& info) {
  f(2, info.key);
  f(3, info.raw_bytes);
  f(4, info.stored_bytes);
  f(5, info.created_us);
  f(6, info.digest);
}
template <typename F>
void fields(F& f, CheckpointName& name) {
  f(2, name.key);
  f(3, name.digest);
}
template <typename F>
void fields(F& f, CheckpointNames& names) {
  f(2, static_cast<std::vector<CheckpointName>&>(names));
}
/// Writes or reads a struct as one field that contains its fields in compressed form.
template <typename T>
void packed(FieldWriter& f, std::uint16_t number, const T& value) {
  const std::vector<std::byte> raw = write_fields(value);
  std::vector<std::byte> out(ZSTD_compressBound(raw.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 3);
  if (ZSTD_isError(size)) throw Error("cannot compress an event of a journal");
  out.resize(size);
  f(number, out);
}
template <typename T>
void packed(FieldReader& f, std::uint16_t number, T& value) {
  std::vector<std::byte> bytes;
  f(number, bytes);
  if (bytes.empty()) return;
  std::vector<std::byte> raw;
  const std::string_view wrong = unpack(bytes, [&](std::span<const std::byte> piece) {
    raw.insert(raw.end(), piece.begin(), piece.end());
  });
  if (!wrong.empty()) throw Damaged("an event of a journal cannot be unpacked: run `flor fsck`");
  value = read_fields<T>(raw);
}
template <typename F>
void fields(F& f, PackMark& mark) {
  f(2, mark.name);
  f(3, mark.bytes);
}
template <typename F>
void fields(F& f, Place& place) {
  f(2, place.path);
  f(3, place.epoch);
  f(4, place.step);
  f(5, place.inner);
}
template <typename F>
void fields(F& f, SavedCheckpoint& saved) {
  f(2, saved.number);
  f(3, saved.name);
  f(4, saved.key);
  f(5, saved.place);
  f(6, saved.ordinal);
  f(7, saved.scores);
}
template <typename F>
void fields(F& f, CheckpointStrategy& strategy) {
  f(2, strategy.num_to_keep);
  f(3, strategy.score_attribute);
  f(4, strategy.score_order);
  f(5, strategy.tie);
}
template <typename F>
void fields(F& f, NewReplay& replay) {
  f(2, replay.started_us);
  f(3, replay.segment);
  f(4, replay.segments);
  f(5, replay.first_epoch);
  f(6, replay.last_epoch);
  f(7, replay.strong);
  f(8, replay.probes);
  f(9, replay.program_digest);
  f(10, replay.command);
  f(11, replay.question);
}
template <typename F>
void fields(F& f, ReplayResult& result) {
  f(2, result.finished_us);
  f(3, result.verdict);
  f(4, result.values_compared);
  f(5, result.values_different);
  f(6, result.states_compared);
  f(7, result.states_different);
  f(8, result.values_found);
  f(9, result.first_difference);
}
template <typename F>
void fields(F& f, ReplayedPart& part) {
  f(2, part.part);
  f(3, part.result);
  f(4, part.found);
  f(5, part.seconds);
}

template <typename F>
void fields(F& f, WriterEvent& event) {
  f(2, event.run);
  f(3, event.number);
  f(4, event.process);
  f(5, event.host);
  f(6, event.flor);
  f(7, event.began_us);
}
template <typename F>
void fields(F& f, RunEvent& event) {
  f(2, event.key);
  f(3, event.start);
  f(4, event.leader);
  f(5, event.build);
  f(6, event.origin);
}
template <typename F>
void fields(F& f, ArgumentEvent& event) {
  f(2, event.argument);
}
template <typename F>
void fields(F& f, InputEvent& event) {
  f(2, event.file);
}
template <typename F>
void fields(F& f, OutputEvent& event) {
  f(2, event.file);
}
template <typename F>
void fields(F& f, ProgressEvent& event) {
  f(2, event.progress);
}
template <typename F>
void fields(F& f, ValuesEvent& event) {
  f(2, event.name);
  f(3, event.path);
  f(4, event.replay);
  f(5, event.block);
  f(6, event.text);
  f(7, event.epoch);
  f(8, event.step);
  f(9, event.ordinal);
  f(10, event.inner);
  f(11, event.type);
}
template <typename F>
void fields(F& f, CheckpointEvent& event) {
  f(2, event.info);
  f(3, event.layout);
  f(4, event.items);
  f(5, event.chunks);
  f(6, event.packs);
  f(7, event.foreign);
  f(8, event.stream);
}
template <typename F>
void fields(F& f, ObjectEvent& event) {
  f(2, event.digest);
  f(3, event.raw_bytes);
  f(4, event.stored_bytes);
  f(5, event.items);
  f(6, event.chunks);
  f(7, event.packs);
  f(8, event.foreign);
}
template <typename F>
void fields(F& f, DiscardEvent& event) {
  f(2, event.at_us);
  packed(f, 3, event.checkpoints);
}
template <typename F>
void fields(F& f, ProofEvent& event) {
  f(2, event.replay);
  packed(f, 3, event.checkpoints);
  f(4, event.environment);
}
template <typename F>
void fields(F& f, UndiscardEvent& event) {
  packed(f, 3, event.checkpoints);
}
template <typename F>
void fields(F& f, CollectedEvent& event) {
  f(2, event.at_us);
  packed(f, 3, event.checkpoints);
}
template <typename F>
void fields(F& f, ForgetEvent& event) {
  f(2, event.checkpoints);
}
template <typename F>
void fields(F& f, ArchivedEvent& event) {
  f(2, event.saved_bytes);
}
template <typename F>
void fields(F& f, EndEvent& event) {
  f(2, event.finished_us);
  f(3, event.failed);
  f(4, event.message);
}
template <typename F>
void fields(F& f, InterruptEvent& event) {
  f(2, event.message);
}
template <typename F>
void fields(F&, ReopenEvent&) {}
template <typename F>
void fields(F& f, ResumeEvent& event) {
  f(2, event.resumption);
}
template <typename F>
void fields(F& f, GapsEvent& event) {
  f(2, event.gaps);
}
template <typename F>
void fields(F& f, LaunchEvent& event) {
  f(2, event.launch);
}
template <typename F>
void fields(F& f, SealedEvent& event) {
  f(2, event.frames);
}
template <typename F>
void fields(F&, JoinEvent&) {}
template <typename F>
void fields(F&, CloseLaunchEvent&) {}
template <typename F>
void fields(F& f, SavedEvent& event) {
  f(2, event.saved);
}
template <typename F>
void fields(F& f, ScoreEvent& event) {
  f(2, event.number);
  f(3, event.metric);
  f(4, event.value);
}
template <typename F>
void fields(F& f, StrategyEvent& event) {
  f(2, event.strategy);
}
template <typename F>
void fields(F& f, ReplayEvent& event) {
  f(2, event.key);
  f(3, event.start);
}
template <typename F>
void fields(F& f, RestoringEvent& event) {
  f(2, event.replay);
  f(3, event.raw_bytes);
  f(4, event.seconds);
}
template <typename F>
void fields(F& f, PartsEvent& event) {
  f(2, event.replay);
  f(3, event.parts);
}
template <typename F>
void fields(F& f, ReplayEndEvent& event) {
  f(2, event.replay);
  f(3, event.result);
}
template <typename F>
void fields(F& f, VerifyEvent& event) {
  f(2, event.replay);
  f(3, event.epochs);
}
template <typename F>
void fields(F& f, DoubtEvent& event) {
  f(2, event.replay);
  f(3, event.why);
}
template <typename F>
void fields(F& f, OutputsEvent& event) {
  f(2, event.repository);
  f(3, event.program);
  f(4, event.paths);
}
template <typename F>
void fields(F& f, BuildCommandEvent& event) {
  f(2, event.repository);
  f(3, event.program);
  f(4, event.command);
}
template <typename F>
void fields(F& f, OriginEvent& event) {
  f(2, event.origin);
}
template <typename F>
void fields(F& f, CopyEvent& event) {
  f(2, event.leader);
  f(3, event.origin);
  f(4, event.database);
  f(5, event.foreign);
}
template <typename F>
void fields(F& f, MergeEvent& event) {
  f(3, event.origin);
  f(4, event.database);
}
template <typename F>
void fields(F& f, LabelEvent& event) {
  f(2, event.said_us);
  f(3, event.kind);
  f(4, event.name);
  f(5, event.value);
}
template <typename F>
void fields(F&, DropEvent&) {}

template <typename Event>
std::vector<std::byte> encode_event(std::int64_t at_us, const Event& event) {
  std::vector<std::byte> out;
  FieldWriter writer(out);
  writer(1, at_us);
  fields(writer, const_cast<Event&>(event));  // not modified
  return out;
}

template <typename Event>
Event decode_event(std::span<const std::byte> payload) {
  return read_fields<Event>(payload);
}

std::int64_t event_time(std::span<const std::byte> payload) {
  std::int64_t at_us = 0;
  const FieldReader reader(payload);
  reader(1, at_us);
  return at_us;
}

#define FLOR_EVENT(Event)                                                         \
  template std::vector<std::byte> encode_event(std::int64_t at_us, const Event&); \
  template Event decode_event(std::span<const std::byte> payload);
FLOR_EVENT(WriterEvent)
FLOR_EVENT(RunEvent)
FLOR_EVENT(ArgumentEvent)
FLOR_EVENT(InputEvent)
FLOR_EVENT(OutputEvent)
FLOR_EVENT(ProgressEvent)
FLOR_EVENT(ValuesEvent)
FLOR_EVENT(CheckpointEvent)
FLOR_EVENT(ObjectEvent)
FLOR_EVENT(DiscardEvent)
FLOR_EVENT(ProofEvent)
FLOR_EVENT(UndiscardEvent)
FLOR_EVENT(CollectedEvent)
FLOR_EVENT(ForgetEvent)
FLOR_EVENT(ArchivedEvent)
FLOR_EVENT(EndEvent)
FLOR_EVENT(InterruptEvent)
FLOR_EVENT(ReopenEvent)
FLOR_EVENT(ResumeEvent)
FLOR_EVENT(GapsEvent)
FLOR_EVENT(SealedEvent)
FLOR_EVENT(LaunchEvent)
FLOR_EVENT(JoinEvent)
FLOR_EVENT(CloseLaunchEvent)
FLOR_EVENT(SavedEvent)
FLOR_EVENT(ScoreEvent)
FLOR_EVENT(StrategyEvent)
FLOR_EVENT(ReplayEvent)
FLOR_EVENT(RestoringEvent)
FLOR_EVENT(PartsEvent)
FLOR_EVENT(ReplayEndEvent)
FLOR_EVENT(VerifyEvent)
FLOR_EVENT(DoubtEvent)
FLOR_EVENT(OutputsEvent)
FLOR_EVENT(BuildCommandEvent)
FLOR_EVENT(OriginEvent)
FLOR_EVENT(CopyEvent)
FLOR_EVENT(MergeEvent)
FLOR_EVENT(LabelEvent)
FLOR_EVENT(DropEvent)
#undef FLOR_EVENT

namespace {

/// Returns the length of a value's texts, as they count for kBlockTextMax.
std::size_t text_bytes(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return value.place.inner.size() + (text ? text->size() : 0);
}

ValuesEvent outline(const Value& value, std::string_view replay_key) {
  ValuesEvent event;
  event.name = value.name;
  event.path = value.place.path;
  event.replay = replay_key;
  return event;
}

ValuesEvent alone(const Value& value, std::string_view replay_key) {
  ValuesEvent event = outline(value, replay_key);
  event.text = std::get<std::string>(value.value);
  event.epoch = value.place.epoch;
  event.step = value.place.step;
  event.ordinal = value.ordinal;
  event.inner = value.place.inner;
  event.type = value.type;
  return event;
}

/// True for types whose values are strings.
bool is_text(ValueType type) { return type >= ValueType::text && type <= ValueType::table; }

/// Points of one series that will become a block.
struct Gathered {
  const Value* first = nullptr;
  std::vector<PointView> points;
  std::size_t text = 0;
  std::size_t next = 0;  ///< index of the series whose value followed the last value of this series
};

}  // namespace

std::vector<ValuesEvent> encode_values(std::span<const Value> values, std::string_view replay_key) {
  thread_local CodecContext context;
  std::vector<ValuesEvent> events;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> known;
  std::vector<Gathered> series;
  std::size_t last = 0;
  const auto close = [&](Gathered& one) {
    if (one.points.empty()) return;
    encode_block(context, one.points, events.emplace_back(outline(*one.first, replay_key)).block);
    one.points.clear();
    one.text = 0;
  };
  const auto series_of = [&](const Value& value) -> Gathered& {
    // Programs log the same names in the same order repeatedly, so the next series is guessed
    // first.
    const std::size_t guess = series.empty() ? 0 : series[last].next;
    if (guess < series.size() && series[guess].first->name == value.name &&
        series[guess].first->place.path == value.place.path) {
      last = guess;
      return series[guess];
    }
    const auto [found, is_new] = known.try_emplace({value.name, value.place.path}, series.size());
    if (is_new) series.emplace_back().first = &value;
    series[last].next = found->second;
    last = found->second;
    return series[last];
  };
  for (const Value& value : values) {
    const std::size_t text = text_bytes(value);
    if (text > kBlockTextMax) {
      events.push_back(alone(value, replay_key));
      continue;
    }
    Gathered& one = series_of(value);
    if (one.points.size() == kBlockPointsMax || one.text + text > kBlockTextMax) close(one);
    one.text += text;
    one.points.push_back({value.place.epoch, value.place.step, value.ordinal, value.type,
                          &value.place.inner, &value.value});
  }
  for (Gathered& one : series) close(one);
  return events;
}

std::vector<Value> decode_values(const ValuesEvent& event, std::int64_t replay) {
  std::vector<Value> values;
  const auto add = [&](Point point) {
    Value& value = values.emplace_back();
    value.name = event.name;
    value.place = {event.path, point.epoch, point.step, std::move(point.inner)};
    value.ordinal = point.ordinal;
    value.type = point.type;
    value.value = std::move(point.value);
    value.replay = replay;
  };
  if (event.block.empty()) {
    if (!is_text(event.type)) {
      throw Damaged("a value of a journal has another type than it says: run `flor fsck`");
    }
    add({event.epoch, event.step, event.ordinal, event.inner, event.type, event.text});
    return values;
  }
  thread_local CodecContext context;
  for (Point& point : decode_block(context, event.block)) add(std::move(point));
  return values;
}

}  // namespace flor::store
