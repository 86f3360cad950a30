// flor du: shows disk usage, and how much space deleting would free.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "maintain/usage.h"
#include "output/json.h"
#include "output/table.h"
#include "output/time.h"
#include "shell/context.h"

#include <flor/store/checkpoint.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::Usage;

class Du final : public Command {
 public:
  std::string_view name() const override { return "du"; }
  std::string_view summary() const override { return "show disk usage"; }
  std::string_view lesson() const override {
    return R"(Lists experiments and runs, or the items of one run: their raw size, what they need of the store,
what of that others need as well, and what `flor gc` would free if they were deleted.

Examples:
  flor du                       experiments and runs
  flor du linear                the tensors of the latest run of 'linear'
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run whose items are listed", false);
  }
  int run(Context& context) override {
    if (run_.empty()) {
      print_store(context);
    } else {
      print_run(context, parse_whole_run(context, run_));
    }
    return 0;
  }

 private:
  static void print_store(Context& context);
  static void print_run(Context& context, const store::Run& run);

  std::string run_;
};

void print_table(Context& context, const char* title, const std::vector<Usage>& list) {
  Table table({{title, Align::left, true},
               {"raw", Align::right},
               {"stored", Align::right},
               {"shared", Align::right},
               {"frees", Align::right}});
  for (const Usage& usage : list) {
    table.add(usage.removed ? usage.name + " (removed)" : usage.name);
    for (const std::uint64_t count : {usage.raw, usage.stored, usage.shared, usage.frees}) {
      table.add(bytes(count));
    }
  }
  table.print(context.out(), context.style());
}

Json to_json(const std::vector<Usage>& list, const char* title) {
  Json result = Json::array();
  for (const Usage& usage : list) {
    Json entry{{title, usage.name}};
    if (usage.removed) entry["removed"] = true;
    if (usage.checkpoints > 0) entry["checkpoints"] = usage.checkpoints;
    entry["raw_bytes"] = usage.raw;
    entry["stored_bytes"] = usage.stored;
    entry["shared_bytes"] = usage.shared;
    entry["frees_bytes"] = usage.frees;
    result.push_back(std::move(entry));
  }
  return result;
}

void Du::print_store(Context& context) {
  const store::UsageReport report = store::usage(context.store());
  if (context.json()) {
    Json result = document("du");
    result["experiments"] = to_json(report.experiments, "experiment");
    result["runs"] = to_json(report.runs, "run");
    result["stored_bytes"] = report.stored;
    result["unreferenced_bytes"] = report.unreferenced;
    result["disk_bytes"] = report.on_disk;
    print(context.out(), result);
    return;
  }
  print_table(context, "experiment", report.experiments);
  context.out().write("\n");
  print_table(context, "run", report.runs);
  context.out().write(fmt::format("\n{} on disk: {} needed, {} unreferenced\n",
                                  bytes(report.on_disk), bytes(report.stored),
                                  bytes(report.unreferenced)));
}

/// Replaces the items that Flor itself adds to the state, whose names mean nothing to users, by
/// their sum.
std::vector<Usage> named_items(std::vector<Usage> items) {
  Usage own{.name = "(kept by Flor)"};
  std::erase_if(items, [&](const Usage& item) {
    if (!store::is_internal(item.name)) return false;
    own.raw += item.raw;
    own.stored += item.stored;
    own.shared += item.shared;
    own.frees += item.frees;
    return true;
  });
  if (own.raw > 0) items.push_back(std::move(own));
  return items;
}

void Du::print_run(Context& context, const store::Run& run) {
  const std::vector<Usage> items = named_items(store::item_usage(context.store(), run.id));
  if (context.json()) {
    Json result = document("du");
    result["run"] = run.key;
    result["items"] = to_json(items, "item");
    print(context.out(), result);
    return;
  }
  print_table(context, "item", items);
}

}  // namespace

std::unique_ptr<Command> make_du() { return std::make_unique<Du>(); }

}  // namespace flor::cli
