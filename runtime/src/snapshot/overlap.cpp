#include "snapshot/overlap.h"

#include <fmt/format.h>

#include <utility>

namespace flor::detail {

Overlap::~Overlap() {
  fence_needed = false;
  copier_.reset();  // first, since its jobs use the copies of `waiting_`
}

void Overlap::add(TakenSnapshot taken, Then then) {
  const std::lock_guard lock(mutex_);
  if (const auto late = taken.late) {
    latest_ = late;
    if (!copier_) {
      copier_ = std::make_unique<Background>(priority_, [] {}, "flor-copier");
    }
    // When the thread gets a core, other threads may already have made the copies and written them.
    copier_->post([copies = std::weak_ptr(late)] {
      if (const auto left = copies.lock()) left->run();
    });
  }
  untouched_ = taken.late != nullptr;
  waiting_.push_back({std::move(taken), std::move(then)});
  hand_on();
  publish();
}

void Overlap::edge(std::string_view main_loop, std::string_view nested, Edge edge) {
  const std::lock_guard lock(mutex_);
  if (!copier_) return;  // nothing has ever overlapped
  if (edge == Edge::body) untouched_ = false;
  note_stretch();
  hand_on();
  if (latest_) {
    reference_ = std::move(latest_);
  } else if (reference_ && reference_->find_moved()) {
    reference_.reset();  // no snapshot was taken here, and the last one does not show the state
  }
  std::string name(1, static_cast<char>(edge));
  name.append(main_loop).append("/").append(nested);
  stretch_ = &stretches_[std::move(name)];
  if (!stretch_->seen || stretch_->writes) finish();
  for (Waiting& each : waiting_) each.fresh = false;
  if (stretch_->writes) stretch_ = nullptr;
  publish();
}

void Overlap::fence() {
  const std::lock_guard lock(mutex_);
  finish();
  note_stretch();
  publish();
}

void Overlap::settle() {
  const std::lock_guard lock(mutex_);
  hand_on();
  publish();
}

/// Waits for all copies. This thread takes part, since the copying thread yields to all others.
void Overlap::finish() {
  untouched_ = false;
  for (Waiting& each : waiting_) each.fresh = false;
  if (waiting_.empty()) return;
  if (copier_) {
    const Background::Hurry hurry(*copier_);
    for (const Waiting& each : waiting_) {
      if (each.taken.late) each.taken.late->wait();
    }
  }
  hand_on();
}

void Overlap::hand_on() {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    bool right = true;
    if (const auto late = first.taken.late) {
      if (first.fresh || !late->complete()) return;
      right = is_right(*late);
      if (right) late->deliver(first.taken.snapshot);
      first.taken.late.reset();
    }
    Waiting ready = std::move(first);
    waiting_.pop_front();
    std::optional<TakenSnapshot> taken;
    if (right) taken = std::move(ready.taken);
    ready.then(std::move(taken));
  }
}

bool Overlap::is_right(const LateCopies& copies) {
  const LateItem* failed = copies.find_failed();
  const LateItem* moved = failed ? nullptr : copies.find_moved();
  if (!failed && !moved) return true;
  if (!allowed_.exchange(false)) return false;
  if (failed) {
    dropped_(fmt::format("there was no memory for a copy of '{}'", item_title(failed->name())));
  } else {
    dropped_(fmt::format("'{}' was written before flor::fence() while its content was being copied",
                         item_title(moved->name())));
  }
  return false;
}

void Overlap::note_stretch() {
  if (!stretch_ || !reference_) return;
  stretch_->seen = true;
  if (reference_->find_moved()) stretch_->writes = true;
  stretch_ = nullptr;
}

/// Updates fence_needed. A fence is also needed to see that a stretch writes nothing before it.
void Overlap::publish() {
  fence_needed.store(!waiting_.empty() || (stretch_ && reference_), std::memory_order_release);
}

}  // namespace flor::detail
