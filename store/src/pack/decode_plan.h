// The order in which chunks are decoded: trees that consist of a whole chunk and the differences
// built on it, so that each record is read and decoded once, however many tasks need it.
#pragma once

#include "pack/chunk_reader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// A chunk to be decoded to a destination.
struct Task {
  std::uint32_t chunk = 0;
  std::span<std::byte> raw;
  std::size_t block = 0;  ///< index in the layout, for messages
};

/// The decoding of one record of a tree.
struct DecodeStep {
  static constexpr std::size_t kNone = SIZE_MAX;

  const ChunkRow* row = nullptr;
  std::size_t base = kNone;          ///< the step that produces the base
  std::size_t dependents = 0;        ///< number of steps that have this one as their base
  std::span<const Task> tasks = {};  ///< the tasks that want this chunk itself
  /// If the chunk is needed only as the base of a single difference, it is decoded into the memory
  /// of that difference's step: the index of that step.
  std::size_t memory_of = kNone;
};

/// Steps that one thread executes, in order.
struct DecodeTree {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t stored_bytes = 0;
};

class DecodePlan {
 public:
  /// `chunks` must have all rows that the tasks need and outlive the plan. Throws Damaged if a task
  /// and its chunk differ in length.
  DecodePlan(const ChunkReader& chunks, std::vector<Task> tasks);

  /// Trees in the order in which the chunks of their tasks were written.
  std::span<const DecodeTree> trees() const { return trees_; }
  std::span<const DecodeStep> steps() const { return steps_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  struct Node;
  void add_tree(const std::vector<Node>& nodes, std::size_t root);

  std::vector<Task> tasks_;  ///< ordered by chunk
  std::vector<DecodeStep> steps_;
  std::vector<DecodeTree> trees_;
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace flor::store
