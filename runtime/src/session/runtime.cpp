#include "session/runtime.h"

#include "printed/printed_output.h"
#include "session/named_iteration.h"

#include <fmt/format.h>

namespace flor::detail {
namespace {

/// "train", "train~2", ...
std::string execution_name(const std::string& name, int execution) {
  return execution == 1 ? name : fmt::format("{}~{}", name, execution);
}

}  // namespace

std::string safe_loop_name(std::string_view name) {
  if (name.empty()) return "loop";
  std::string safe(name);
  for (char& c : safe) {
    if (c == '/' || c == '~' || c == ',' || c == '@' || static_cast<unsigned char>(c) < 32) c = '_';
  }
  return safe;
}

LoopScope::LoopScope(std::string_view name, LoopSettings settings)
    : frame_(std::make_unique<Frame>(safe_loop_name(name), std::move(settings))) {
  frame_->exceptions = std::uncaught_exceptions();
  if (Iteration::Place* outer = named_iteration()) {
    frame_->named.emplace();
    const int execution = ++outer->children[frame_->name];
    frame_->component = execution_name(frame_->name, execution);
  }
}

LoopScope::~LoopScope() {
  Runtime* session = runtime();
  if (!frame_->opened || !session) return;
  const Inside inside;
  const bool failed = std::uncaught_exceptions() > frame_->exceptions;
  const LoopEnd how = failed                                   ? LoopEnd::failed
                      : (frame_->exhausted || !frame_->inside) ? LoopEnd::exhausted
                                                               : LoopEnd::broke;
  try {
    session->end_loop(*frame_, how);
  } catch (const std::exception& error) {
    die(error);
  } catch (...) {
    die(Error("an exception of unknown type ended a loop"));
  }
}

LoopScope::Start LoopScope::begin(bool random_access, const LoopPlace& place) {
  frame_->place = place;
  if (frame_->named) return Start{};
  return run_inside([&] {
    Runtime* session = runtime();
    return session ? session->begin_loop(*frame_, random_access) : Start{};
  });
}
void LoopScope::count(std::uint64_t elements) { frame_->count = elements; }
void LoopScope::arrive(bool gone) {
  run_inside([&] {
    if (Runtime* session = runtime()) session->arrive(*frame_, gone);
  });
}
bool LoopScope::enter() {
  if (frame_->named) [[unlikely]] {
    if (Runtime* session = runtime()) {
      frame_->named->current = std::make_unique<Iteration>(
          begin_iteration(*session, frame_->component, frame_->index));
    }
    return true;
  }
  return run_inside([&] {
    Runtime* session = runtime();
    return !session || !frame_->opened || session->enter_iteration(*frame_);
  });
}
LoopScope::Move LoopScope::leave() {
  if (frame_->named) [[unlikely]] {
    frame_->named->current.reset();
    ++frame_->index;
    return {};
  }
  return run_inside([&] {
    Runtime* session = runtime();
    return session && frame_->opened ? session->leave_iteration(*frame_) : Move{};
  });
}
void LoopScope::note(std::int64_t value) {
  if (value != frame_->index) note_iteration(value);
}
void LoopScope::note(double value) { note_iteration(value); }
void LoopScope::note(std::string_view value) { note_iteration(frame_->name, value); }
void LoopScope::exhaust() { frame_->exhausted = true; }

std::unique_ptr<LoopScope> open_scope(std::string_view name, LoopSettings settings) {
  Runtime* session = runtime();
  if (!session || (!session->own_thread() && !named_iteration())) return nullptr;
  return std::make_unique<LoopScope>(name, std::move(settings));
}

Runtime::Runtime(Flags flags, std::shared_ptr<store::Store> store)
    : flags_(std::move(flags)), store_(std::move(store)) {}

void Runtime::start_journal() {
  background_ = std::make_unique<Background>(priority_, [this] { tick(); });
  journal_.on_full([this] { background_->post([this] { flush_journal(); }); },
                   [this](const std::function<void()>& wait) {
                     const Background::Hurry hurry(*background_);
                     wait();
                   });
}

void Runtime::flush_journal() {
  LogBatch batch = journal_.take();
  if (!batch.empty()) keep(std::move(batch));
  journal_.written();
}

void Runtime::name_loop(Frame& frame) {
  auto& siblings = frames_.empty() ? main_loops_begun_ : frames_.back()->children;
  const int execution = ++siblings[frame.name];
  frame.component = execution_name(frame.name, execution);
  frame.depth = frames_.size();
  const std::string parent = frames_.empty() ? "" : journal_.text_of(frames_.back()->path) + "/";
  frame.path = journal_.intern(parent + frame.component);
}

LoopScope::Start Runtime::begin_loop(Frame& frame, bool random_access) {
  name_loop(frame);
  frame.opened_at = Clock::now();
  LoopScope::Start start;
  if (frame.depth == 0) {
    frames_.push_back(&frame);
    frame.opened = true;
    // Registered, so that every checkpoint inside the main loop or at its edges has the attached
    // locals.
    frame.registered = registry_.add(frame.settings.attached);
    start = begin_main(frame, random_access);
  } else {
    if (frame.depth == 1) start = begin_nested(frame);
    frames_.push_back(&frame);
    frame.opened = true;
  }
  frame.visited = start.visit;
  // Values that are logged while the range is begun belong to no step yet.
  if (frame.depth > 0) set_index(frame, -1);
  if (start.visit) update_place();
  return start;
}

void Runtime::set_index(const Frame& frame, std::int64_t index) {
  if (frame.depth == 1) {
    journal_.place().step.store(index, std::memory_order_relaxed);
  } else if (frame.depth - 2 < CurrentPlace::kInnerLoops) {
    journal_.place().inner[frame.depth - 2].store(index, std::memory_order_relaxed);
  }
}

bool Runtime::enter_iteration(Frame& frame) {
  if (frame.limit >= 0 && frame.index >= frame.limit) {
    frame.cut = true;
    return false;
  }
  if (frame.depth > 0) {
    if (frame.arriving) [[unlikely]] {
      frame.arriving = false;
      reach(frame);
    }
    set_index(frame, frame.index);
    if (fence_needed.load(std::memory_order_relaxed)) settle();
  } else {
    if (!enter_main(frame)) return false;
    update_place();
  }
  frame.inside = true;
  if (!frame.children.empty()) frame.children.clear();
  return true;
}

LoopScope::Move Runtime::leave_iteration(Frame& frame) {
  frame.inside = false;
  if (frame.depth == 0) return leave_main(frame);
  ++frame.index;
  const std::int64_t steps = frame.depth == 1 ? leave_nested(frame) : 1;
  return {.go_on = frame.limit < 0 || frame.index < frame.limit || !frame.limit_broke,
          .steps = steps};
}

void Runtime::end_loop(Frame& frame, LoopEnd how) {
  if (frame.depth == 0) {
    end_main(frame, how);
    registry_.drop(frame.registered);
  } else if (frame.depth == 1 && frame.visited) {
    if (frame.arriving && how == LoopEnd::exhausted) reach(frame);
    end_nested(frame, how);
  }
  // Usually the last frame, since loops end in the reverse order of their beginning.
  std::erase(frames_, &frame);
  update_place();
  if (frame.depth == 1) left_nested(frame, how);
}

std::map<std::string, store::SavedCheckpoint> Runtime::recorded_saves() const {
  std::map<std::string, store::SavedCheckpoint> saves;
  for (store::SavedCheckpoint& saved : store_->catalog().saved(run().id)) {
    const std::string place = VisitedPlaces::text(saved.place, saved.ordinal);
    saves.emplace(place, std::move(saved));
  }
  return saves;
}

std::vector<Slot> Runtime::attached_here() const {
  return frames_.size() > 1 ? frames_[1]->settings.attached : std::vector<Slot>();
}

store::CheckpointKey Runtime::save_key(std::int64_t main_loops) const {
  return {.kind = store::CheckpointKind::saved,
          .main_loop = frames_.empty() ? main_loops : main_frame().ordinal,
          .iteration = frames_.empty() ? -1 : main_frame().index,
          .loop = {}};
}

void Runtime::update_place() {
  journal_.move([this](CurrentPlace& place) {
    const std::size_t depth = frames_.size();
    place.path = depth > 0 ? frames_.back()->path : 0;
    place.epoch = depth > 0 ? frames_[0]->first_epoch + frames_[0]->index : -1;
    place.nested = depth > 1;
    place.inner_depth = depth > 2 ? std::min(depth - 2, CurrentPlace::kInnerLoops) : 0;
  });
  note_printed_place(journal_.place().epoch, journal_.text_of(journal_.place().path),
                     !catching_up());
}

}  // namespace flor::detail
