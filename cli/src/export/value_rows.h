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

/// Which values of each run to export.
struct ExportQuestion {
  std::vector<std::string> metrics;  ///< empty: all
  std::int64_t first_epoch = -1, last_epoch = INT64_MAX;
  ColumnsBesideValues beside = {};  ///< facts about the run to repeat in each row
};

enum class RowFormat { csv, json, jsonl };

/// Writes a row for each value, run by run, in the order of `store::each_value`, and holds only one
/// value in memory at a time. Returns the number of rows. docs/cli.md lists the columns.
std::int64_t write_value_rows(const store::Store& store, std::span<const store::Run> runs,
                              const ExportQuestion& question, RowFormat format, Output& out);

/// A query for recorded values, values found in hindsight (by replays), and values of evaluators.
store::ValueQuery value_query(const store::Run& run, const ExportQuestion& question);

}  // namespace flor::cli
