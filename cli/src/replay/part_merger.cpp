#include "replay/part_merger.h"

#include <iterator>
#include <utility>

namespace flor::cli {

PartMerger::PartMerger(store::Store& store, std::int64_t run, std::int64_t replay)
    : store_(store), run_(run), replay_(replay) {
  for (const store::ReplayedPart& part : store_.catalog().replayed_by(replay_)) {
    known_.insert(part.part);
  }
}

void PartMerger::take(const detail::HandedObject& object) {
  if (!writer_) writer_ = std::make_unique<store::CheckpointWriter>(store_, run_);
  writer_->write_object(object.item, object.content);
}

void PartMerger::take(const detail::RestoreTime& time) {
  store_.catalog().add_restore_time(replay_, time.bytes, time.seconds);
}

void PartMerger::Hands::take(detail::HandedValue handed) {
  values_[handed.part].push_back(std::move(handed.value));
}

bool PartMerger::complete(Hands& hands, const store::ReplayedPart& part) {
  auto values = hands.values_.extract(part.part);
  if (!known_.insert(part.part).second) return false;
  parts_.push_back(part);
  if (values.empty()) return true;
  for (store::Value& value : values.mapped()) value.replay = replay_;
  values_.insert(values_.end(), std::make_move_iterator(values.mapped().begin()),
                 std::make_move_iterator(values.mapped().end()));
  return true;
}

std::vector<store::ReplayedPart> PartMerger::flush() {
  if (parts_.empty()) return {};
  store_.catalog().add_replayed(run_, replay_, values_, parts_);
  values_.clear();
  return std::exchange(parts_, {});
}

}  // namespace flor::cli
