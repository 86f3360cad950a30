#include "record/outbox.h"

#include <flor/store/error.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace flor::detail {
namespace {

std::uint64_t bytes_of(const store::Value& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return sizeof value + value.name.size() + value.place.path.size() + value.place.inner.size() +
         (text ? text->size() : 0);
}

/// Appends `added` to `list`. The first element of `added` may replace the last element of `list`.
template <typename Element, typename Same>
void append(std::vector<Element>& list, std::vector<Element> added, const Same& same) {
  if (!list.empty() && !added.empty() && same(list.back(), added.front())) list.pop_back();
  list.insert(list.end(), std::make_move_iterator(added.begin()),
              std::make_move_iterator(added.end()));
}

constexpr auto never_same = [](const auto&, const auto&) { return false; };

bool same_loop(const store::MainLoop& a, const store::MainLoop& b) {
  return a.ordinal == b.ordinal;
}

bool same_range(const store::StorageDecision& a, const store::StorageDecision& b) {
  return a.main_loop == b.main_loop && a.first == b.first;
}

}  // namespace

void ValueOutbox::add(store::Value value) {
  const std::uint64_t bytes = bytes_of(value);
  bytes_ += bytes;
  values_bytes_ += bytes;
  values_.push_back(std::move(value));
}

void ValueOutbox::add(store::Value value, LoggedContent content) {
  bytes_ += content.content.size();
  contents_.push_back({std::move(value), std::move(content)});
}

std::set<std::int64_t> ValueOutbox::epochs() const {
  std::set<std::int64_t> epochs = epochs_of_contents();
  for (const store::Value& value : values_) epochs.insert(value.place.epoch);
  return epochs;
}

std::set<std::int64_t> ValueOutbox::epochs_of_contents() const {
  std::set<std::int64_t> epochs;
  for (const WithContent& waiting : contents_) epochs.insert(waiting.value.place.epoch);
  return epochs;
}

bool ValueOutbox::flush_contents(const std::function<std::string(const LoggedContent&)>& write) {
  if (contents_.empty()) return false;
  for (; !contents_.empty(); contents_.pop_front()) {
    WithContent& first = contents_.front();
    first.value.value = write(first.content);
    bytes_ -= first.content.content.size();
    add(std::move(first.value));
  }
  return true;
}

bool ValueOutbox::flush(const std::function<void(std::span<const store::Value>)>& write) {
  if (values_.empty()) return false;
  std::size_t written = 0;
  const auto forget_written = [&] {
    if (written == values_.size()) return forget_values();
    for (std::size_t i = 0; i < written; ++i) {
      bytes_ -= bytes_of(values_[i]);
      values_bytes_ -= bytes_of(values_[i]);
    }
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(written));
  };
  try {
    while (written < values_.size()) {
      const std::size_t end = std::min(values_.size(), written + kAtOnce);
      write(std::span(values_).subspan(written, end - written));
      written = end;
    }
  } catch (...) {
    forget_written();
    throw;
  }
  forget_written();
  return true;
}

void ValueOutbox::hand_on(const std::function<void(std::span<const store::Value>)>& write) {
  write(values_);
  forget_values();
}

void ValueOutbox::forget_values() {
  bytes_ -= std::exchange(values_bytes_, 0);
  values_.clear();
}

bool UpdateOutbox::add(Update update) {
  if (updates_.size() >= kCountMax) return false;
  updates_.push_back(std::move(update));
  return true;
}

bool UpdateOutbox::flush(store::Catalog& catalog) {
  if (updates_.empty()) return false;
  for (; !updates_.empty(); updates_.pop_front()) {
    try {
      updates_.front()(catalog);
    } catch (const NotFound&) {  // a later attempt would not find it either
    }
  }
  return true;
}

bool ProgressOutbox::add(const store::Iteration& iteration) {
  const std::lock_guard lock(mutex_);
  if (!has_room()) return false;
  progress_.iterations.push_back(iteration);
  return true;
}

bool ProgressOutbox::add(const store::LoopExecution& execution) {
  const std::lock_guard lock(mutex_);
  if (!has_room()) return false;
  progress_.executions.push_back(execution);
  return true;
}

void ProgressOutbox::put(const store::MainLoop& loop) {
  const std::lock_guard lock(mutex_);
  append(progress_.loops, {loop}, same_loop);
}

void ProgressOutbox::put(std::vector<store::StorageDecision> decisions,
                         const store::Recording& recording) {
  const std::lock_guard lock(mutex_);
  for (store::StorageDecision& decision : decisions) {
    append(progress_.decisions, {decision}, same_range);
  }
  progress_.recording = recording;
}

bool ProgressOutbox::flush(store::Catalog& catalog, std::int64_t run) {
  bool wrote = false;
  hand_on([&](const store::Progress& progress) {
    wrote = !progress.empty();
    if (wrote) catalog.add_progress(run, progress);
  });
  return wrote;
}

void ProgressOutbox::hand_on(const std::function<void(const store::Progress&)>& write) {
  store::Progress progress;
  {
    const std::lock_guard lock(mutex_);
    std::swap(progress, progress_);
  }
  try {
    write(progress);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    std::swap(progress, progress_);  // `progress` then has what was added meanwhile
    append(progress_.loops, std::move(progress.loops), same_loop);
    append(progress_.iterations, std::move(progress.iterations), never_same);
    append(progress_.executions, std::move(progress.executions), never_same);
    append(progress_.decisions, std::move(progress.decisions), same_range);
    if (progress.recording) progress_.recording = progress.recording;
    throw;
  }
}

}  // namespace flor::detail
