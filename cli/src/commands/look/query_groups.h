// flor query with --group-by or --over: values of several runs, averaged by group.
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
  std::vector<std::string> metrics;  ///< no name twice
  /// The query for each run. A run may occur several times; each of its values counts once.
  std::vector<std::pair<store::Run, store::ValueQuery>> runs;
  GroupWish wish;
  GroupForm form = GroupForm::table;
};

/// Prints a row for each group, metric and place in the loops for which a run of the group has a
/// number. Throws NotFound for a metric that no run has, and if no value is a number.
void print_groups(Context& context, const GroupedQuestion& question);

}  // namespace flor::cli
