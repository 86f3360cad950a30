// Logged values as rows of CSV, JSON or JSON lines.
#pragma once

#include "output/stream.h"

#include <flor/store/store.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// What is exported of each run.
struct ExportQuestion {
  std::vector<std::string> metrics;  ///< empty: all
  std::int64_t first_epoch = -1, last_epoch = INT64_MAX;
};

enum class RowFormat { csv, json, jsonl };

/// A row for each value, run by run, in the order of `store::each_value`. Returns their number.
/// Holds no more of them than that. The columns are those that docs/cli.md lists.
std::int64_t write_value_rows(const store::Store& store, std::span<const store::Run> runs,
                              const ExportQuestion& question, RowFormat format, Output& out);

/// Recorded values, those found in hindsight, and those of evaluators.
store::ValueQuery value_query(const store::Run& run, const ExportQuestion& question);

}  // namespace flor::cli
