// The loops around logged values as cells of tables, CSV and JSON.
#pragma once

#include "ask/loop_columns.h"
#include "output/json.h"

#include <optional>
#include <string>

namespace flor::cli {

using ask::loop_text;
using ask::LoopColumns;

/// Empty for a place in no such loop.
std::string shown(const std::optional<LoopColumns::Cell>& cell);
std::string exact(const std::optional<LoopColumns::Cell>& cell);
/// {"document": 3, "document_value": "a.pdf"}: what is not empty.
Json loops_json(const LoopColumns& loops, std::int64_t run, const store::Place& place);

}  // namespace flor::cli
