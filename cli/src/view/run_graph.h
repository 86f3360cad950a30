// Draws runs, and the runs that they were forked from, as a graph of characters. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// A run of the graph. Nodes are in the order of the lines, children before their parents.
struct GraphNode {
  std::int64_t id = 0;
  std::optional<std::int64_t> parent = {};
  std::size_t resumptions = 0;  ///< number of lines below the run for its resumptions
};

struct GraphLine {
  enum class Kind : std::uint8_t {
    run,      ///< the run itself: "*"
    resumed,  ///< a resumption of the run, the latest first: ":"
    forked,   ///< the edge to the run's parent: "@"
    join,     ///< edges that come together: "|/"
  };
  Kind kind = Kind::run;
  std::size_t node = 0;  ///< index of the node that it belongs to
  std::string text;      ///< such as "| * |"
};

/// The lines of all nodes. If the parent of a node is not among the later nodes, the edge to it
/// ends in the next line.
std::vector<GraphLine> draw_graph(std::span<const GraphNode> nodes);

}  // namespace flor::cli
