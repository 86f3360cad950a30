#include "pack/decode_plan.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace flor::store {

struct DecodePlan::Node {
  const ChunkRow* row = nullptr;
  std::vector<std::size_t> dependents;
  std::span<const Task> tasks;
};

namespace {

auto place_of(const ChunkRow& row) { return std::tie(row.pack, row.offset); }

}  // namespace

DecodePlan::DecodePlan(const ChunkReader& chunks, std::vector<Task> tasks)
    : tasks_(std::move(tasks)) {
  // Sorts by place, so that equal chunks are adjacent and all are in the order of writing.
  std::sort(tasks_.begin(), tasks_.end(), [&chunks](const Task& a, const Task& b) {
    return place_of(chunks.row(a.chunk)) < place_of(chunks.row(b.chunk));
  });
  std::vector<Node> nodes;
  std::vector<std::size_t> roots;
  std::unordered_map<std::uint32_t, std::size_t> known;
  known.reserve(2 * tasks_.size());
  for (std::size_t begin = 0; begin < tasks_.size();) {
    std::size_t end = begin;
    for (; end < tasks_.size() && tasks_[end].chunk == tasks_[begin].chunk; ++end) {
      raw_bytes_ += tasks_[end].raw.size();
      chunks.require_length(tasks_[end].chunk, tasks_[end].raw.size());
    }
    // Follows the bases up to the whole chunk, or to a chunk that another chain has added already.
    std::size_t dependent = DecodeStep::kNone;
    for (std::uint32_t id = tasks_[begin].chunk; id != 0; id = nodes[dependent].row->base) {
      const auto [entry, is_new] = known.emplace(id, nodes.size());
      if (is_new) nodes.push_back({&chunks.row(id), {}, {}});
      if (dependent != DecodeStep::kNone) nodes[entry->second].dependents.push_back(dependent);
      dependent = entry->second;
      if (!is_new) break;
      if (nodes[dependent].row->base == 0) roots.push_back(dependent);
    }
    nodes[known.at(tasks_[begin].chunk)].tasks = std::span(tasks_).subspan(begin, end - begin);
    begin = end;
  }
  steps_.reserve(nodes.size());
  trees_.reserve(roots.size());
  for (const std::size_t root : roots) add_tree(nodes, root);
}

void DecodePlan::add_tree(const std::vector<Node>& nodes, std::size_t root) {
  DecodeTree tree{steps_.size(), steps_.size(), 0};
  std::vector<std::pair<std::size_t, std::size_t>> open{{root, DecodeStep::kNone}};
  while (!open.empty()) {
    const auto [index, base] = open.back();
    open.pop_back();
    const Node& node = nodes[index];
    const std::size_t step = steps_.size();
    steps_.push_back({node.row, base, node.dependents.size(), node.tasks});
    tree.stored_bytes += kRecordHeaderBytes + node.row->stored_bytes;
    for (const std::size_t dependent : node.dependents) open.emplace_back(dependent, step);
  }
  tree.end = steps_.size();
  for (std::size_t i = tree.end; i-- > tree.begin;) {
    // The only dependent of a step comes right after it.
    DecodeStep& step = steps_[i];
    if (!step.tasks.empty() || step.dependents != 1) continue;
    const DecodeStep& next = steps_[i + 1];
    step.memory_of = next.memory_of == DecodeStep::kNone ? i + 1 : next.memory_of;
  }
  trees_.push_back(tree);
}

}  // namespace flor::store
