#include "snapshot/buffers.h"

#include <flor/adapter.h>

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace flor::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Allocates memory and touches it, so that the first copy into it causes no page faults.
std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  const std::size_t alignment = large ? kHugePage : 64;
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  if (!memory) throw std::bad_alloc();
  if (large) ::madvise(memory, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), std::free};
}

}  // namespace

struct BufferPool::State {
  struct Size {
    std::vector<std::shared_ptr<std::byte>> free;
    std::uint64_t asked_for = 0;  // number of the last request for this size
  };

  void trim() {
    while (free_bytes > free_bytes_max) {
      const auto oldest = std::ranges::min_element(sizes, {}, [](const auto& size) {
        return size.second.free.empty() ? UINT64_MAX : size.second.asked_for;
      });
      oldest->second.free.pop_back();
      free_bytes -= oldest->first.first;
      if (oldest->second.free.empty()) sizes.erase(oldest);
    }
  }

  std::mutex mutex;
  std::condition_variable returned;
  std::map<std::pair<std::size_t, bool>, Size> sizes;  // by size in bytes, and whether pinned
  std::uint64_t in_use = 0;
  std::uint64_t free_bytes = 0, free_bytes_max = UINT64_MAX;
  std::uint64_t requests = 0;
};

BufferPool::BufferPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte> BufferPool::acquire(std::size_t bytes, bool pinned) {
  std::shared_ptr<std::byte> memory;
  {
    const std::lock_guard lock(state_->mutex);
    State::Size& size = state_->sizes[{bytes, pinned}];
    size.asked_for = ++state_->requests;
    if (!size.free.empty()) {
      memory = std::move(size.free.back());
      size.free.pop_back();
      state_->free_bytes -= bytes;
    }
    state_->in_use += bytes;
  }
  if (!memory && pinned && adapter().allocate_pinned) memory = adapter().allocate_pinned(bytes);
  if (!memory) memory = allocate(bytes);

  // The handle keeps the state alive, not the pool, since snapshots may outlive the session.
  std::byte* address = memory.get();
  return {address, [state = state_, memory = std::move(memory), bytes, pinned](std::byte*) mutable {
            const std::lock_guard lock(state->mutex);
            state->in_use -= bytes;
            state->sizes[{bytes, pinned}].free.push_back(std::move(memory));
            state->free_bytes += bytes;
            state->trim();
            state->returned.notify_all();
          }};
}

void BufferPool::prepare(std::size_t bytes, std::size_t count, bool pinned) {
  for (std::size_t i = 0; i < count; ++i) {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->sizes[{bytes, pinned}].free.size() >= count) return;
    }
    auto memory = pinned && adapter().allocate_pinned ? adapter().allocate_pinned(bytes)
                                                      : allocate(bytes);
    std::memset(memory.get(), 0, bytes);
    const std::lock_guard lock(state_->mutex);
    state_->sizes[{bytes, pinned}].free.push_back(std::move(memory));
    state_->free_bytes += bytes;
  }
}

void BufferPool::keep_at_most(std::uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->free_bytes_max = bytes;
  state_->trim();
}

std::uint64_t BufferPool::in_use() const {
  const std::lock_guard lock(state_->mutex);
  return state_->in_use;
}

void BufferPool::wait_below(std::uint64_t limit, const std::function<bool()>& others_work) {
  std::unique_lock lock(state_->mutex);
  while (state_->in_use > limit && others_work()) {
    // The timeout is for work that ends without returning a buffer.
    state_->returned.wait_for(lock, std::chrono::milliseconds(20));
  }
}

}  // namespace flor::detail
