#include "view/loop_columns.h"

#include "output/values.h"

#include <nlohmann/json.hpp>

namespace flor::cli {

std::string shown(const std::optional<LoopColumns::Cell>& cell) {
  return cell ? readable(cell->type, cell->value) : std::string();
}

std::string exact(const std::optional<LoopColumns::Cell>& cell) {
  return cell ? exact(cell->type, cell->value) : std::string();
}

Json loops_json(const LoopColumns& loops, std::int64_t run, const store::Place& place) {
  Json result = Json::object();
  const auto cells = loops.of(run, place);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i]) result[loops.titles()[i]] = to_json(cells[i]->type, cells[i]->value);
  }
  return result;
}

}  // namespace flor::cli
