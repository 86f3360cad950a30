// Writes logged values as rows of CSV, JSON or JSON lines.
#pragma once

#include "output/stream.h"
#include "view/columns_beside_values.h"

#include <flor/store/store.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// The values to export of each run.
struct ExportQuestion {
  std::vector<std::string> metrics;  ///< empty: all
  std::int64_t first_epoch = -1, last_epoch = INT64_MAX;
  ColumnsBesideValues beside = {};  ///< what stands of the run in each row
};

enum class RowFormat { csv, json, jsonl };

/// Writes a row for each value, run by run, in the order of `store::each_value`, and holds only one
/// at a time. Returns their number. docs/cli.md lists the columns.
std::int64_t write_value_rows(const store::Store& store, std::span<const store::Run> runs,
                              const ExportQuestion& question, RowFormat format, Output& out);

/// Asks for recorded values, those found in hindsight, and those of evaluators.
store::ValueQuery value_query(const store::Run& run, const ExportQuestion& question);

}  // namespace flor::cli
