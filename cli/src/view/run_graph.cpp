#include "view/run_graph.h"

#include <algorithm>
#include <map>

namespace flor::cli {
namespace {

/// Draws the graph line by line. A lane (a column of the drawing) is an edge that leads down to a
/// parent which has not been drawn yet.
class GraphDrawer {
 public:
  explicit GraphDrawer(std::span<const GraphNode> nodes) : nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) places_[nodes[i].id] = i;
  }

  std::vector<GraphLine> draw() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) put(i);
    return std::move(lines_);
  }

 private:
  static constexpr std::int64_t kFree = -1;

  void put(std::size_t index) {
    const GraphNode& node = nodes_[index];
    auto own = static_cast<std::size_t>(std::ranges::find(lanes_, node.id) - lanes_.begin());
    for (std::size_t lane = lanes_.size(); lane-- > own + 1;) {
      if (lanes_[lane] != node.id) continue;
      std::size_t nearest = lane - 1;
      while (lanes_[nearest] != node.id) --nearest;
      join(index, nearest, lane);
    }
    if (own == lanes_.size()) {
      own = static_cast<std::size_t>(std::ranges::find(lanes_, kFree) - lanes_.begin());
    }
    if (own == lanes_.size()) lanes_.push_back(kFree);
    lanes_[own] = node.id;
    add(GraphLine::Kind::run, index, marked(own, '*'));
    for (std::size_t i = 0; i < node.resumptions; ++i) {
      add(GraphLine::Kind::resumed, index, marked(own, ':'));
    }
    if (node.parent) add(GraphLine::Kind::forked, index, marked(own, '@'));
    const auto parent = node.parent ? places_.find(*node.parent) : places_.end();
    lanes_[own] = parent != places_.end() && parent->second > index ? *node.parent : kFree;
    while (!lanes_.empty() && lanes_.back() == kFree) lanes_.pop_back();
  }

  /// Draws the lane `from` bending into the lane `to` on its left.
  void join(std::size_t index, std::size_t to, std::size_t from) {
    std::string text = marked(to, '|');
    for (std::size_t at = 2 * to + 1; at + 1 < 2 * from; ++at) {
      if (text[at] == ' ') text[at] = '_';
    }
    text[2 * from - 1] = '/';
    text[2 * from] = ' ';
    lanes_[from] = kFree;
    add(GraphLine::Kind::join, index, std::move(text));
  }

  std::string marked(std::size_t lane, char mark) const {
    std::string text(2 * lanes_.size() - 1, ' ');
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i] != kFree) text[2 * i] = '|';
    }
    text[2 * lane] = mark;
    return text;
  }

  void add(GraphLine::Kind kind, std::size_t node, std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    lines_.push_back({kind, node, std::move(text)});
  }

  std::span<const GraphNode> nodes_;
  std::map<std::int64_t, std::size_t> places_;
  std::vector<std::int64_t> lanes_;  // for each lane, the id of the parent it leads to
  std::vector<GraphLine> lines_;
};

}  // namespace

std::vector<GraphLine> draw_graph(std::span<const GraphNode> nodes) {
  return GraphDrawer(nodes).draw();
}

}  // namespace flor::cli
