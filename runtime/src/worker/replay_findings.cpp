#include "worker/replay_findings.h"

#include "maintain/shared_view.h"

#include <iterator>
#include <utility>

namespace flor::detail {

std::string StoredFindings::write_object(const store::Item& item,
                                         std::span<const std::byte> content) {
  return writer_.write_object(item, content);
}

void StoredFindings::add_values(std::int64_t, std::vector<store::Value> values) {
  for (store::Value& value : values) value.replay = replay_;
  catalog_.add_values(run_, values);
}

/// Writes all parts in one transaction, since each transaction waits for the disk.
void StoredFindings::add_complete(std::vector<CompletePart> parts) {
  std::vector<store::Value> values;
  std::vector<store::ReplayedPart> results;
  for (CompletePart& part : parts) {
    for (store::Value& value : part.values) value.replay = replay_;
    values.insert(values.end(), std::make_move_iterator(part.values.begin()),
                  std::make_move_iterator(part.values.end()));
    results.push_back(std::move(part.part));
  }
  catalog_.add_replayed(run_, replay_, values, results);
}

void StoredFindings::add_restore_time(const RestoreTime& time) {
  catalog_.add_restore_time(replay_, time.bytes, time.seconds);
}

std::string HandedFindings::write_object(const store::Item& item,
                                         std::span<const std::byte> content) {
  std::string reference = store::object_reference(item, content);
  if (said_.insert(reference).second) hands_.hand_in(encode_object(item, content));
  return reference;
}

void HandedFindings::add_values(std::int64_t part, std::vector<store::Value> values) {
  for (store::Value& value : values) {
    hands_.hand_in(HandedValue{.part = part, .value = std::move(value)}.encode());
  }
}

void HandedFindings::add_complete(std::vector<CompletePart> parts) {
  for (CompletePart& part : parts) add_values(part.part.part, std::move(part.values));
}

void HandedFindings::add_restore_time(const RestoreTime& time) { hands_.hand_in(time.encode()); }

}  // namespace flor::detail
