// flor query with --group-by or --over: values of several runs put together.
#pragma once

#include "choose/run_groups.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

class Context;

enum class GroupForm : std::uint8_t { table, csv, json, jsonl };

struct GroupedQuestion {
  std::vector<std::string> metrics;  ///< distinct
  /// Queries for each run. A run may come several times; a value of it counts once.
  std::vector<std::pair<store::Run, store::ValueQuery>> runs;
  GroupWish wish;
  GroupForm form = GroupForm::table;
};

/// A row for each group, metric and place in the loops where a run of the group has a number.
/// Throws NotFound for a metric that no run has, and where none of the values is a number.
void print_groups(Context& context, const GroupedQuestion& question);

}  // namespace flor::cli
