// Has the kernel load the records to be decoded next, while others decode.
#pragma once

#include "pack/decode_plan.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace flor::store {

/// A thread that goes through the trees of a plan ahead of the decoding threads, gathers the
/// records of many of them into long runs of the packs, and asks for these. Bytes in the page cache
/// already cost some microseconds a megabyte; errors are left to the readers.
class ReadAhead {
 public:
  /// `next` is the index of the first tree that no thread has taken; a thread that changes it
  /// notifies. Everything given must outlive this object.
  ReadAhead(const ChunkReader& chunks, const DecodePlan& plan,
            const std::atomic<std::size_t>& next);
  ~ReadAhead();  ///< needs `next` to be at the end, or else waits for it
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
