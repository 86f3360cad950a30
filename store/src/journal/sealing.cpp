#include "journal/sealing.h"

#include "base/digest_stream.h"
#include "journal/events.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

/// The most values that are held in memory at once.
constexpr std::size_t kValuesMax = 4 * kBlockPointsMax;

/// A list in which a new element replaces the earlier one with the same key; otherwise it is
/// appended.
template <typename Key, typename Element>
class Latest {
 public:
  void add(const Key& key, const Element& element) {
    const auto [at, is_new] = places_.try_emplace(key, elements_.size());
    is_new ? elements_.push_back(element) : void(elements_[at->second] = element);
  }
  std::vector<Element> take() {
    places_.clear();
    return std::exchange(elements_, {});
  }

 private:
  std::map<Key, std::size_t> places_;
  std::vector<Element> elements_;
};

/// The combined state of the loops after several progress events.
class ProgressSum {
 public:
  void add(const Progress& progress) {
    is_empty_ = false;
    for (const MainLoop& one : progress.loops) loops_.add(one.ordinal, one);
    for (const Iteration& one : progress.iterations) {
      iterations_.add({one.main_loop, one.iteration}, one);
    }
    for (const LoopExecution& one : progress.executions) {
      executions_.add({one.main_loop, one.iteration, one.loop}, one);
    }
    for (const StorageDecision& one : progress.decisions) {
      decisions_.add({one.main_loop, one.first}, one);
    }
    if (progress.recording) recording_ = progress.recording;
  }
  bool is_empty() const { return is_empty_; }
  Progress take() {
    is_empty_ = true;
    return {loops_.take(), iterations_.take(), executions_.take(), decisions_.take(),
            std::exchange(recording_, std::nullopt)};
  }

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;
  bool is_empty_ = true;
  Latest<std::int64_t, MainLoop> loops_;
  Latest<Place, Iteration> iterations_;
  Latest<std::tuple<std::int64_t, std::int64_t, std::string>, LoopExecution> executions_;
  Latest<Place, StorageDecision> decisions_;
  std::optional<Recording> recording_;
};

/// How an event may be reordered when events are merged.
enum class Part {
  values,    ///< logged values; may be merged
  progress,  ///< progress of loops; may be merged
  other,     ///< keeps its place, but merged events may move past it
  border,    ///< keeps its place, and nothing moves past it
};

Part part_of(const JournalEvent& event) {
  switch (event.kind) {
    case EventKind::values:
      return decode_event<ValuesEvent>(event.payload).replay.empty() ? Part::values : Part::border;
    case EventKind::progress:
      return Part::progress;
    case EventKind::argument:
    case EventKind::checkpoint:
    case EventKind::object:
    case EventKind::saved:
    case EventKind::score:
    case EventKind::strategy:
    case EventKind::input:
    case EventKind::output:
      return Part::other;
    default:
      return Part::border;
  }
}

/// Calls `visit` for each event of a journal, and returns its end. Throws Damaged unless it is
/// sound.
template <typename Visit>
JournalPosition each_event(Filesystem& filesystem, const fs::path& journal, const Visit& visit) {
  JournalReader reader(filesystem, journal, {});
  while (const auto event = reader.next()) {
    if (event->follows_loss || !reader.damage().empty()) break;
    visit(*event);
  }
  if (!reader.damage().empty()) throw Damaged(reader.damage().front());
  return reader.position();
}

/// Merges events where possible, and passes the events of the sealed journal to a sink.
class Joiner {
 public:
  using Sink = std::function<void(EventKind, std::span<const std::byte>)>;
  explicit Joiner(Sink sink) : sink_(std::move(sink)) {}

  void add(const JournalEvent& event) {
    const Part part = part_of(event);
    if (part == Part::border) flush();
    last_us_ = event.at_us;
    switch (part) {
      case Part::values:
        return add_values(event);
      case Part::progress:
        return progress_.add(decode_event<ProgressEvent>(event.payload).progress);
      default:
        sink_(event.kind, event.payload);
    }
  }

  /// Passes on the merged events, with the time of the last one.
  void flush() {
    flush_values();
    if (!progress_.is_empty()) {
      sink_(EventKind::progress, encode_event(last_us_, ProgressEvent{progress_.take()}));
    }
  }

  /// Writes the `sealed` event, whose absence shows that a sealed journal was truncated.
  void end(std::int64_t frames) {
    flush();
    sink_(EventKind::sealed, encode_event(last_us_, SealedEvent{frames}));
  }

 private:
  void add_values(const JournalEvent& event) {
    std::vector<Value> values = decode_values(decode_event<ValuesEvent>(event.payload), 0);
    values_.insert(values_.end(), std::make_move_iterator(values.begin()),
                   std::make_move_iterator(values.end()));
    if (values_.size() >= kValuesMax) flush_values();
  }
  void flush_values() {
    for (const ValuesEvent& event : encode_values(std::exchange(values_, {}), {})) {
      sink_(EventKind::values, encode_event(last_us_, event));
    }
  }

  Sink sink_;
  std::vector<Value> values_;
  ProgressSum progress_;
  std::int64_t last_us_ = 0;
};

/// A digest of what a journal says: equal for two journals if one can replace the other.
class Meaning {
 public:
  void add(const JournalEvent& event) {
    if (event.kind == EventKind::sealed) return;
    const Part part = part_of(event);
    if (part == Part::border) say_joined();
    switch (part) {
      case Part::values:
        for (const Value& value : decode_values(decode_event<ValuesEvent>(event.payload), 0)) {
          add(value);
        }
        return;
      case Part::progress:
        return progress_.add(decode_event<ProgressEvent>(event.payload).progress);
      default:
        all_.add(std::as_bytes(std::span(&event.kind, 1)));
        all_.add(event.payload);
    }
  }

  Digest digest() {
    say_joined();
    return all_.digest();
  }

 private:
  void add(const Value& value) {
    auto& series = series_[{value.name, value.place.path}];
    if (!series) series.emplace();
    const std::int64_t numbers[] = {value.place.epoch, value.place.step, value.ordinal,
                                    static_cast<std::int64_t>(value.type), bits_of(value.value)};
    series->add(std::as_bytes(std::span(numbers)));
    update(*series, value.place.inner);
    if (const auto* text = std::get_if<std::string>(&value.value)) update(*series, *text);
  }
  static std::int64_t bits_of(const Scalar& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
    if (const auto* real = std::get_if<double>(&value)) return std::bit_cast<std::int64_t>(*real);
    return 0;
  }
  static void update(DigestStream& stream, std::string_view text) {
    const std::uint64_t length = text.size();
    stream.add(std::as_bytes(std::span(&length, 1)));
    stream.add(std::as_bytes(std::span(text)));
  }

  /// The values of one series are ordered; values of different series are not ordered among each
  /// other.
  void say_joined() {
    for (auto& [name, series] : series_) {
      update(all_, name.first);
      update(all_, name.second);
      const Digest digest = series->digest();
      all_.add(std::as_bytes(std::span(digest.bytes)));
    }
    series_.clear();
    if (!progress_.is_empty()) all_.add(encode_event(0, ProgressEvent{progress_.take()}));
  }

  std::map<std::pair<std::string, std::string>, std::optional<DigestStream>> series_;
  ProgressSum progress_;
  DigestStream all_;
};

Digest meaning_of(Filesystem& filesystem, const fs::path& journal) {
  Meaning meaning;
  each_event(filesystem, journal, [&](const JournalEvent& event) { meaning.add(event); });
  return meaning.digest();
}

Sealed write_sealed(Filesystem& filesystem, const fs::path& journal, const fs::path& made) {
  FrameWriter writer(filesystem, made);
  Joiner joiner([&](EventKind kind, std::span<const std::byte> payload) {
    in_frames(kind, payload, [&](std::uint16_t frame, std::span<const std::byte> bytes) {
      writer.append(frame, bytes);
    });
    if (writer.pending_bytes() > kFrameBytesMax) writer.flush();
  });
  const JournalPosition read =
      each_event(filesystem, journal, [&](const JournalEvent& event) { joiner.add(event); });
  joiner.flush();
  joiner.end(static_cast<std::int64_t>(writer.frames()));
  writer.sync();
  return {{writer.bytes(), writer.frames()}, read, fs::file_size(journal)};
}

}  // namespace

Sealed seal_journal(Filesystem& filesystem, const fs::path& journal, const fs::path& made) {
  std::error_code error;
  try {
    const Sealed sealed = write_sealed(filesystem, journal, made);
    if (meaning_of(filesystem, journal) != meaning_of(filesystem, made)) {
      throw Damaged(fmt::format("{} would not say what it said when it is sealed: it is left alone",
                                journal.string()));
    }
    return sealed;
  } catch (...) {
    fs::remove(made, error);
    throw;
  }
}

}  // namespace flor::store
