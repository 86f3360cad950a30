// The order in which the chunks of a read are decoded: trees of a whole chunk and the differences
// upon it, so that no record is read or decoded twice, however many tasks need it.
#pragma once

#include "pack/chunk_reader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// One chunk that is to be decoded to one place.
struct Task {
  std::uint32_t chunk = 0;
  std::span<std::byte> raw;
  std::size_t block = 0;  ///< of the layout, for messages
};

/// One record of a tree.
struct DecodeStep {
  static constexpr std::size_t kNone = SIZE_MAX;

  const ChunkRow* row = nullptr;
  std::size_t base = kNone;          ///< the step that gives the base
  std::size_t dependents = 0;        ///< steps that this is the base of
  std::span<const Task> tasks = {};  ///< those that want this chunk itself
  /// A step whose only purpose is one difference decodes to where that one goes: its index.
  std::size_t memory_of = kNone;
};

/// Steps that one thread executes in order.
struct DecodeTree {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t stored_bytes = 0;
};

class DecodePlan {
 public:
  /// `chunks` has all rows that the tasks need, and must outlive the plan. Throws Damaged where a
  /// task and its chunk differ in length.
  DecodePlan(const ChunkReader& chunks, std::vector<Task> tasks);

  /// In the order in which the chunks of their tasks were written.
  std::span<const DecodeTree> trees() const { return trees_; }
  std::span<const DecodeStep> steps() const { return steps_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  struct Node;
  void add_tree(const std::vector<Node>& nodes, std::size_t root);

  std::vector<Task> tasks_;  ///< by chunk
  std::vector<DecodeStep> steps_;
  std::vector<DecodeTree> trees_;
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace flor::store
