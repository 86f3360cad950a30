// Memory for decoding chunks, and the pool in which it is kept between reads.
#pragma once

#include "base/scratch.h"
#include "codec/codec.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace flor::store {

/// Working memory of one decoding thread.
struct DecodeScratch {
  CodecContext codec;
  std::vector<std::byte> record;
  std::vector<std::vector<std::byte>> bases;   ///< one for each level of a chain of differences
  std::vector<std::vector<std::byte>> unused;  ///< receives chunks that are only needed as bases
};

/// Keeps scratch memory between reads, because every fresh page would cost a page fault. Holds at
/// most kKept pieces of about 12 MiB each. Thread-safe.
class DecodeScratchPool {
 public:
  /// Scratch memory that returns to the pool when destroyed. The pool must outlive it.
  class Lease {
   public:
    explicit Lease(DecodeScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Lease() { pool_.give_back(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    DecodeScratch& operator*() { return *scratch_; }

   private:
    DecodeScratchPool& pool_;
    std::unique_ptr<DecodeScratch> scratch_;
  };

 private:
  static constexpr std::size_t kKept = 8;

  std::unique_ptr<DecodeScratch> take() {
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return std::make_unique<DecodeScratch>();
    auto scratch = std::move(kept_.back());
    kept_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<DecodeScratch> scratch) noexcept {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < kKept) kept_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<DecodeScratch>> kept_;
};

}  // namespace flor::store
