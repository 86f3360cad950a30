#include "base/outage.h"

#include <algorithm>
#include <utility>

namespace flor::detail {

void Outage::failed(Time now) {
  pause_ = since_ ? std::min(2 * pause_, kLongestPause) : kFirstPause;
  if (!since_) since_ = now;
  next_ = now + pause_;
}

std::optional<Outage::Time> Outage::succeeded() { return std::exchange(since_, std::nullopt); }

void Gaps::add(std::int64_t epoch, bool values, std::string_view why) {
  const auto after = std::ranges::upper_bound(gaps_, epoch, {}, &store::Gap::first);
  std::size_t at = static_cast<std::size_t>(after - gaps_.begin());
  if (at > 0 && gaps_[at - 1].last >= epoch) {
    const store::Gap around = gaps_[--at];
    if (!values || around.values) return;
    // The gap around the epoch has all values, but this epoch has not, so the gap is split.
    std::vector<store::Gap> pieces;
    if (around.first < epoch) pieces.push_back({around.first, epoch - 1, false, around.why});
    pieces.push_back({epoch, epoch, true, std::string(why)});
    if (epoch < around.last) pieces.push_back({epoch + 1, around.last, false, around.why});
    const auto place = gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(at));
    gaps_.insert(place, pieces.begin(), pieces.end());
    if (around.first < epoch) ++at;
  } else {
    gaps_.insert(gaps_.begin() + static_cast<std::ptrdiff_t>(at),
                 {epoch, epoch, values, std::string(why)});
  }
  merge_around(at);
}

void Gaps::merge_around(std::size_t index) {
  const auto merge = [this](std::size_t left) {
    if (left + 1 >= gaps_.size()) return;
    const store::Gap& next = gaps_[left + 1];
    if (gaps_[left].last + 1 != next.first || gaps_[left].values != next.values) return;
    if (gaps_[left].first < 0) return;  // negative epochs stand for places outside of the loops
    gaps_[left].last = next.last;
    gaps_.erase(gaps_.begin() + static_cast<std::ptrdiff_t>(left) + 1);
  };
  merge(index);
  if (index > 0) merge(index - 1);
}

bool StorageHealth::may_try(Part part) const {
  const std::lock_guard lock(mutex_);
  const Outage::Time now = now_();
  return rows_.may_try(now) && (part == Part::rows || content_.may_try(now));
}

bool StorageHealth::lasts() const {
  const std::lock_guard lock(mutex_);
  return rows_.lasts() || content_.lasts();
}

bool StorageHealth::lasts(Part part) const {
  const std::lock_guard lock(mutex_);
  return (part == Part::rows ? rows_ : content_).lasts();
}

bool StorageHealth::failed(Part part, std::string_view why) {
  constexpr std::chrono::minutes kSoon(1);
  const std::lock_guard lock(mutex_);
  const Outage::Time now = now_();
  const bool begins = !rows_.lasts() && !content_.lasts();
  of(part).failed(now);
  why_ = why;
  if (!begins) return false;
  began_ = now;
  if (said_ && now - *said_ < kSoon) return false;
  said_ = now;
  to_end_ = true;
  return true;
}

std::optional<double> StorageHealth::succeeded(Part part) {
  const std::lock_guard lock(mutex_);
  if (!of(part).succeeded() || rows_.lasts() || content_.lasts()) return std::nullopt;
  if (!std::exchange(to_end_, false)) return std::nullopt;
  return std::chrono::duration<double>(now_() - began_).count();
}

void StorageHealth::set_gaps(std::vector<store::Gap> known) {
  const std::lock_guard lock(mutex_);
  written_ = known;
  gaps_ = Gaps(std::move(known));
}

void StorageHealth::miss(std::int64_t epoch, bool values, std::string_view why) {
  const std::lock_guard lock(mutex_);
  gaps_.add(epoch, values, why.empty() ? std::string_view(why_) : why);
}

std::vector<store::Gap> StorageHealth::gaps() const {
  const std::lock_guard lock(mutex_);
  return gaps_.all();
}

std::optional<std::vector<store::Gap>> StorageHealth::unwritten_gaps() const {
  const std::lock_guard lock(mutex_);
  if (gaps_.all() == written_) return std::nullopt;
  return gaps_.all();
}

bool StorageHealth::gaps_are_due() const {
  const std::lock_guard lock(mutex_);
  if (gaps_.all() == written_) return false;
  const bool lasts = rows_.lasts() || content_.lasts();
  return !lasts || !written_at_ || now_() >= *written_at_ + kGapPause;
}

void StorageHealth::written(const std::vector<store::Gap>& gaps) {
  const std::lock_guard lock(mutex_);
  written_ = gaps;
  written_at_ = now_();
}

}  // namespace flor::detail
