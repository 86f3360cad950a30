#include "snapshot/late_copies.h"

#include "snapshot/copy.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace flor::detail {

Witness::Witness(const std::byte* content, std::size_t bytes, std::shared_ptr<WriteWatch> watch)
    : content_(content),
      bytes_(bytes),
      watch_(std::move(watch)),
      version_(watch_->version()),
      samples_(look()) {}

std::array<std::uint64_t, Witness::kSamples> Witness::look() const {
  std::array<std::uint64_t, kSamples> samples{};
  const std::size_t last = bytes_ - sizeof(std::uint64_t);
  for (std::size_t i = 0; i < kSamples; ++i) {
    std::memcpy(&samples[i], content_ + last / (kSamples - 1) * i, sizeof samples[i]);
  }
  return samples;
}

bool Witness::moved() const {
  // The version is compared first, since it tells whether the memory may still be read.
  return watch_->version() != version_ || look() != samples_;
}

bool Witness::same_version(const Witness& other) const {
  return content_ == other.content_ && bytes_ == other.bytes_ && version_ == other.version_ &&
         samples_ == other.samples_;
}

LateItem::LateItem(const store::Item& item, const TensorSource& source,
                   std::shared_ptr<LateItem> before, store::Content last)
    : name_(item.name),
      from_(source.host),
      bytes_(source.bytes),
      witness_(source.host, source.bytes, source.watch),
      before_(std::move(before)),
      last_(std::move(last)) {}

void LateItem::copy(BufferPool& buffers) {
  int expected = kWaiting;
  if (!stage_.compare_exchange_strong(expected, kBegun, std::memory_order_acq_rel)) return;
  Stage stage = kCopied;
  try {
    if (before_) {
      before_->copy(buffers);
      before_->wait();
      last_ = before_->content();
    }
    if (last_ && std::memcmp(last_.get(), from_, bytes_) == 0) {
      content_ = std::move(last_);
    } else {
      auto buffer = buffers.acquire(bytes_, false);
      copy_past_caches(buffer.get(), from_, bytes_);
      content_ = std::move(buffer);
    }
  } catch (const std::exception&) {
    stage = kFailed;
  }
  before_.reset();
  last_.reset();
  stage_.store(stage, std::memory_order_release);
  stage_.notify_all();
}

void LateItem::wait() const {
  for (int stage; (stage = stage_.load(std::memory_order_acquire)) < kCopied;) {
    stage_.wait(stage, std::memory_order_acquire);
  }
}

void LateCopies::add(std::size_t index, std::shared_ptr<LateItem> item, std::size_t expected) {
  entries_.push_back({index, std::move(item)});
  expected_ += expected;
}

void LateCopies::run() {
  for (const Entry& entry : entries_) entry.item->copy(buffers_);
}

void LateCopies::wait() {
  run();
  for (const Entry& entry : entries_) entry.item->wait();
}

bool LateCopies::complete() const {
  return std::ranges::all_of(entries_, [](const Entry& entry) { return entry.item->done(); });
}

const LateItem* LateCopies::find_moved() const {
  const auto found = std::ranges::find_if(
      entries_, [](const Entry& entry) { return entry.item->witness().moved(); });
  return found == entries_.end() ? nullptr : found->item.get();
}

const LateItem* LateCopies::find_failed() const {
  const auto found =
      std::ranges::find_if(entries_, [](const Entry& entry) { return entry.item->failed(); });
  return found == entries_.end() ? nullptr : found->item.get();
}

void LateCopies::deliver(store::Snapshot& snapshot) const {
  for (const Entry& entry : entries_) snapshot.items[entry.index].content = entry.item->content();
}

}  // namespace flor::detail
