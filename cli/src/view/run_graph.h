// Runs and the runs that they were forked from as a graph of characters. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// A run, or what happened to it, in the order of the lines: children come before their parents.
struct GraphNode {
  std::int64_t id = 0;
  std::optional<std::int64_t> parent = {};
  std::size_t resumptions = 0;  ///< each has a line below the run
};

struct GraphLine {
  enum class Kind : std::uint8_t {
    run,      ///< the run itself: "*"
    resumed,  ///< one of its resumptions, the latest first: ":"
    forked,   ///< its edge to the parent: "@"
    join,     ///< edges come together: "|/"
  };
  Kind kind = Kind::run;
  std::size_t node = 0;  ///< index of the node that it belongs to
  std::string text;      ///< as "| * |"
};

/// The lines of all nodes. An edge whose parent is not among the nodes that come later ends with
/// its line.
std::vector<GraphLine> draw_graph(std::span<const GraphNode> nodes);

}  // namespace flor::cli
