#include "session/journal.h"

#include "index/values/own_series.h"
#include "session/named_iteration.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace flor::detail {

std::string CurrentPlace::inner_text() const {
  std::string text;
  for (std::size_t i = 0; i < inner_depth; ++i) {
    text += fmt::format("{}{}", i ? "," : "", inner[i].load(std::memory_order_relaxed));
  }
  return text;
}

std::int64_t Ordinals::next(const LogRecord& record, std::string_view inner) {
  if (record.named) {
    return next_[fmt::format("{} {} {} {} {}", record.name, record.path, record.epoch, record.step,
                             inner)]++;
  }
  Last& last = last_[std::uint64_t{record.name} << 32 | record.path];
  const bool same = last.epoch == record.epoch && last.step == record.step && last.inner == inner;
  if (!same) last = {record.epoch, record.step, std::string(inner), -1};
  return ++last.ordinal;
}

void Journal::move(const std::function<void(CurrentPlace&)>& change) {
  const std::lock_guard lock(mutex_);
  change(place_);
}

std::uint32_t Journal::intern_locked(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(text);
  ids_.emplace(std::string(text), id);
  return id;
}

std::uint32_t Journal::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return intern_locked(text);
}

const std::string& Journal::text_of(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return names_.at(id);
}

LogRecord& Journal::append(std::string_view name, store::ValueType type) {
  if (name.starts_with(store::kReservedPrefix)) [[unlikely]] {
    throw UsageError(fmt::format("flor::log(\"{}\"): names that begin with {} are Flor's own", name,
                                 store::kReservedPrefix));
  }
  return append_any(name, type);
}

LogRecord& Journal::append_any(std::string_view name, store::ValueType type) {
  LogRecord& record = batch_.records.emplace_back();
  record.name = intern_locked(name);
  record.type = type;
  record.path = place_.path;
  record.epoch = place_.epoch;
  record.part = place_.part;
  record.suppressed = place_.suppressed;
  record.plugged = place_.plugged;
  const Iteration::Place* const named = named_iteration();
  if (named && named->journal == this) [[unlikely]] {
    record.named = true;
    record.path = named->path;
    record.epoch = named->epoch;
    record.step = named->step;
    record.inner = static_cast<std::uint32_t>(batch_.texts.size());
    batch_.texts.push_back(named->inner);
    return record;
  }
  if (place_.nested) record.step = place_.step.load(std::memory_order_relaxed);
  if (place_.inner_depth > 0) [[unlikely]] {
    record.inner = static_cast<std::uint32_t>(batch_.texts.size());
    batch_.texts.push_back(place_.inner_text());
  }
  return record;
}

void Journal::after_append(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  constexpr std::size_t kBatch = 4096;
  constexpr std::uint64_t kBatchBytes = std::uint64_t{16} << 20;
  const std::uint64_t before = bytes_;
  bytes_ += bytes;
  const bool many = batch_.records.size() % kBatch == 0;
  const bool large = before / kBatchBytes != bytes_ / kBatchBytes;
  if (!wake_ || (!many && !large && !full())) return;
  const bool wait = full();
  lock.unlock();
  wake_();
  if (!wait) return;
  wait_([this] {
    std::unique_lock waiting(mutex_);
    taken_.wait(waiting, [this] { return !full(); });
  });
}

void Journal::add_number(std::string_view name, store::ValueType type, std::uint64_t bits) {
  std::unique_lock lock(mutex_);
  append(name, type).bits = bits;
  after_append(lock, 0);
}

void Journal::add_text(std::string_view name, store::ValueType type, std::string text) {
  std::unique_lock lock(mutex_);
  keep_text(lock, append(name, type), std::move(text));
}

void Journal::keep_text(std::unique_lock<std::mutex>& lock, LogRecord& record, std::string text) {
  record.bits = batch_.texts.size();
  const std::uint64_t bytes = text.size();
  batch_.texts.push_back(std::move(text));
  after_append(lock, bytes);
}

void Journal::add_iteration(store::ValueType type, std::uint64_t bits) {
  std::unique_lock lock(mutex_);
  append_any(store::kIterationSeries, type).bits = bits;
  after_append(lock, 0);
}

void Journal::add_iteration(std::string text) {
  std::unique_lock lock(mutex_);
  keep_text(lock, append_any(store::kIterationSeries, store::ValueType::text), std::move(text));
}

void Journal::add_content(std::string_view name, store::ValueType type, LoggedContent content) {
  std::unique_lock lock(mutex_);
  append(name, type).bits = batch_.contents.size();
  const std::uint64_t bytes = content.content.size();
  batch_.contents.push_back(std::move(content));
  after_append(lock, bytes);
}

LogBatch Journal::take() {
  LogBatch batch;
  {
    const std::lock_guard lock(mutex_);
    std::swap(batch, batch_);
    taken_bytes_ += std::exchange(bytes_, 0);
    batch_.records.reserve(std::min<std::size_t>(batch.records.size(), kPendingMax));
  }
  taken_.notify_all();
  return batch;
}

void Journal::written() {
  {
    const std::lock_guard lock(mutex_);
    taken_bytes_ = 0;
  }
  taken_.notify_all();
}

void for_each_value(const Journal& journal, const LogBatch& batch, Ordinals& ordinals,
                    const std::function<std::string(const LoggedContent&)>& store_content,
                    const std::function<void(const LogRecord&, store::Value)>& take,
                    const std::function<void(const store::Value&)>& pass) {
  using store::ValueType;
  std::vector<const std::string*> texts;  // asks the journal only once for each id
  const auto text_of = [&](std::uint32_t id) -> const std::string& {
    if (id >= texts.size()) texts.resize(id + 1);
    if (!texts[id]) texts[id] = &journal.text_of(id);
    return *texts[id];
  };
  for (const LogRecord& record : batch.records) {
    const std::string& inner = batch.texts[record.inner];
    const std::int64_t ordinal = ordinals.next(record, inner);
    if (record.suppressed && !pass) continue;
    store::Value value;
    value.name = text_of(record.name);
    value.place = {text_of(record.path), record.epoch, record.step, inner};
    value.ordinal = ordinal;
    if (record.suppressed) {
      pass(value);
      continue;
    }
    value.type = record.type;
    switch (record.type) {
      case ValueType::boolean:
      case ValueType::integer:
        value.value = std::bit_cast<std::int64_t>(record.bits);
        break;
      case ValueType::real:
        value.value = std::bit_cast<double>(record.bits);
        break;
      case ValueType::tensor:
      case ValueType::image:
        value.value = store_content(batch.contents[record.bits]);
        break;
      default:
        value.value = batch.texts[record.bits];
    }
    take(record, std::move(value));
  }
}

}  // namespace flor::detail
