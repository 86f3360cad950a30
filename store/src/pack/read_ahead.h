// Makes the kernel load records that will be decoded soon, while other threads decode.
#pragma once

#include "pack/decode_plan.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace flor::store {

/// A thread that walks through the trees of a plan ahead of the decoding threads. It merges the
/// records of many trees into long ranges of the packs, and asks the kernel to load these. For
/// bytes that are already in the page cache that costs some microseconds per megabyte. It ignores
/// errors; the decoding threads report them.
class ReadAhead {
 public:
  /// `next` is the index of the first tree that no thread has taken; a thread that changes it
  /// notifies. All arguments must outlive this object.
  ReadAhead(const ChunkReader& chunks, const DecodePlan& plan,
            const std::atomic<std::size_t>& next);
  ~ReadAhead();  ///< waits until `next` has reached the end
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

 private:
  void run() const;
  void ask_for(std::size_t first_tree, std::size_t last_tree) const;

  const ChunkReader& chunks_;
  const DecodePlan& plan_;
  const std::atomic<std::size_t>& next_;
  std::thread thread_;
};

}  // namespace flor::store
