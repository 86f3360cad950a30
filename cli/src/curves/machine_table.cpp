#include "curves/machine_table.h"

#include "curves/machine_use.h"
#include "output/json.h"
#include "output/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

void print_machine(Context& context, const store::Run& run, std::optional<std::int64_t> epoch) {
  const std::int64_t first = epoch.value_or(-1), last = epoch.value_or(INT64_MAX);
  const auto epochs = machine_use_by_epochs(context.catalog(), run.id, first, last);
  if (context.json()) {
    Json head = document("show");
    head["run"] = run.key;
    JsonList list(context.out(), head, "machine");
    for (const MachineUse& use : epochs) {
      Json row = {{"epoch", use.epoch < 0 ? Json() : Json(use.epoch)}};
      row.update(machine_json(use));
      list.add(row);
    }
    return list.end();
  }
  if (epochs.empty()) {
    return context.note(
        "no sample of the machine was taken there: the first comes after a second, "
        "and --flor_machine none takes none");
  }
  std::vector<detail::MeasureKind> shown;
  for (const detail::MeasureKind& kind : detail::measure_kinds()) {
    const bool is_known = std::ranges::any_of(
        epochs, [&](const MachineUse& use) { return use.find(kind.name) != nullptr; });
    if (is_known) shown.push_back(kind);
  }
  std::vector<Table::Column> columns{{"epoch", Align::right}, {"samples", Align::right}};
  // Where there is no room, those go first that say little of the training.
  for (const detail::MeasureKind& kind : shown) {
    const bool is_main =
        kind.name == "cpu" || kind.name == "memory" || kind.name.starts_with("gpu");
    columns.push_back(
        {kind.name, Align::right, false, is_main ? 0 : static_cast<int>(&kind - shown.data()) + 1});
  }
  Table table(std::move(columns));
  for (const MachineUse& use : epochs) {
    table.add(use.epoch < 0 ? "-" : fmt::format("{}", use.epoch));
    table.add(fmt::format("{}", use.samples()));
    for (const detail::MeasureKind& kind : shown) {
      const Spread* const spread = use.find(kind.name);
      table.add(spread ? measure_text(kind, *spread) : "-");
    }
  }
  const bool left_out = !table.fit(context.out().width()).empty();
  table.print(context.out(), context.style());
  if (left_out) context.note("more of it: flor show --machine --json");
}

}  // namespace flor::cli
