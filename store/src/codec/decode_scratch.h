// Memory to decode in, and where it waits for the next read.
#pragma once

#include "base/scratch.h"
#include "codec/codec.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace flor::store {

/// Memory of one thread that decodes.
struct DecodeScratch {
  CodecContext codec;
  std::vector<std::byte> record;
  std::vector<std::vector<std::byte>> bases;   ///< one for each level of a chain
  std::vector<std::vector<std::byte>> unused;  ///< for chunks that are no task's destination
};

/// Scratch memory that is kept from read to read, since each page of fresh memory costs a fault.
/// Holds at most kKept times about 12 MiB. Thread-safe.
class DecodeScratchPool {
 public:
  /// Goes back to the pool, which must outlive it.
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
