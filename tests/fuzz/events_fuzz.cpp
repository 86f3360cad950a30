// Fuzz target of what the frames of a journal hold. Input: a byte for the kind of an event, then
// its payload. What is read of it is written and read again: the same comes out.
#include "journal/events.h"

#include <flor/store/error.h>

#include <cstdlib>
#include <span>
#include <vector>

namespace flor::fuzz::events_target {
namespace {

using namespace flor::store;

void require(bool condition) {
  if (!condition) std::abort();
}

template <typename Event>
bool read_as(EventKind kind, std::span<const std::byte> payload) {
  if (kind != Event::kKind) return false;
  const auto event = decode_event<Event>(payload);
  const std::int64_t at_us = event_time(payload);
  const auto written = encode_event(at_us, event);
  require(encode_event(at_us, decode_event<Event>(written)) == written);
  require(event_time(written) == at_us);
  return true;
}

template <typename... Events>
bool read_as_any(EventKind kind, std::span<const std::byte> payload) {
  return (read_as<Events>(kind, payload) || ...);
}

void read_values(std::span<const std::byte> payload) {
  const auto values = decode_values(decode_event<ValuesEvent>(payload), 7);
  std::size_t count = 0;
  for (const ValuesEvent& event : encode_values(values, "key")) {
    count += decode_values(event, 7).size();
  }
  require(count == values.size());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto payload = std::as_bytes(std::span(data, size).subspan(1));
  const auto kind = static_cast<EventKind>(data[0]);
  try {
    if (kind == EventKind::values || kind == EventKind::found) read_values(payload);
    read_as_any<WriterEvent, RunEvent, ArgumentEvent, ProgressEvent, ValuesEvent, CheckpointEvent,
                ObjectEvent, DiscardEvent, UndiscardEvent, CollectedEvent, ForgetEvent,
                ArchivedEvent, EndEvent, InterruptEvent, ReopenEvent, ResumeEvent, GapsEvent,
                LaunchEvent, JoinEvent, CloseLaunchEvent, SavedEvent, ScoreEvent, StrategyEvent,
                ReplayEvent, RestoringEvent, PartsEvent, ReplayEndEvent, VerifyEvent, DoubtEvent,
                OutputsEvent, BuildCommandEvent, OriginEvent, CopyEvent, MergeEvent, DropEvent>(
        kind, payload);
  } catch (const flor::Error&) {
  }
  return 0;
}

}  // namespace flor::fuzz::events_target
