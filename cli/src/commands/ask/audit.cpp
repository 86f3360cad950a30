// flor audit: shows which samples a training used, and how often.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "shell/context.h"

#include <flor/data/sample_audit.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

class Audit final : public Command {
 public:
  std::string_view name() const override { return "audit"; }
  std::string_view summary() const override { return "count how often each sample was used"; }
  std::string_view lesson() const override {
    return R"(Counts, from what the samplers of a training logged at the end of each epoch, how many samples were
used once, more often, and never. A name, or the run of rank 0, stands for all ranks that were recorded
together. Give the runs of all replicas that are no such group, and of all restarts in their order.
The status is 7 if a sample was used twice or never although the sampler promises otherwise.

Examples:
  flor audit resume             the latest run of 'resume'
  flor audit 3f2a91c4 0b77d012  a training of two replicas, each of which recorded a run
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("RUN", runs_, "the runs; by default the latest");
    syntax.option("--sampler", "NAME", sampler_, "count the sampler that logs under this name");
  }
  int run(Context& context) override;

 private:
  std::vector<std::string> runs_;
  std::string sampler_ = "samples";
};

/// Describes how the epoch differs from one in which every sample was used once.
std::string remark(const EpochAudit& audit) {
  std::vector<std::string> parts;
  if (audit.known < audit.world) {
    parts.push_back(
        fmt::format("{} of {} replicas, the others were in step", audit.known, audit.world));
  }
  if (audit.pieces > 1) parts.push_back(fmt::format("in {} pieces", audit.pieces));
  if (!audit.forged.empty()) {
    parts.push_back(
        fmt::format("what rank {} used is not what it says", fmt::join(audit.forged, ", ")));
  }
  if (!audit.examples.empty()) {
    parts.push_back(fmt::format("e.g. {} {}", audit.batches ? "batch" : "sample",
                                fmt::join(audit.examples, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void print_table(Context& context, const std::vector<EpochAudit>& audits) {
  Table table({{"epoch", Align::right},
               {"samples", Align::right},
               {"once", Align::right},
               {"repeated", Align::right},
               {"twice", Align::right},
               {"never", Align::right},
               {"remark", Align::left, true}});
  for (const EpochAudit& audit : audits) {
    table.add(std::to_string(audit.epoch));
    for (const std::uint64_t count :
         {audit.samples, audit.once, audit.repeated, audit.twice, audit.unused}) {
      table.add(std::to_string(count));
    }
    table.add(remark(audit));
  }
  table.print(context.out(), context.style());
}

void print_json(Context& context, const std::vector<EpochAudit>& audits) {
  Json result = document("audit");
  result["epochs"] = Json::array();
  for (const EpochAudit& audit : audits) {
    result["epochs"].push_back({{"epoch", audit.epoch},
                                {"unit", audit.batches ? "batch" : "sample"},
                                {"samples", audit.samples},
                                {"once", audit.once},
                                {"repeated", audit.repeated},
                                {"twice", audit.twice},
                                {"never", audit.unused},
                                {"replicas", audit.world},
                                {"known_replicas", audit.known},
                                {"pieces", audit.pieces},
                                {"wrong_ranks", audit.forged},
                                {"examples", audit.examples},
                                {"exact", audit.exact()}});
  }
  print(context.out(), result);
}

/// Replaces a rank 0 by all ranks of its group, unless another rank of the group is named, too.
std::vector<store::Run> with_their_ranks(const store::Catalog& catalog,
                                         const std::vector<store::Run>& named) {
  std::vector<store::Run> runs;
  for (const store::Run& run : named) {
    const auto& place = run.start.rank;
    const bool stands_for_all =
        place && place->rank == 0 && std::ranges::none_of(named, [&](const store::Run& other) {
          return other.id != run.id && other.start.rank && other.start.rank->group == place->group;
        });
    if (!stands_for_all) {
      runs.push_back(run);
      continue;
    }
    for (store::Run& rank : ranks_with(catalog, run)) runs.push_back(std::move(rank));
  }
  return runs;
}

int Audit::run(Context& context) {
  std::vector<store::Run> named;
  for (const std::string& text : runs_) named.push_back(parse_whole_run(context, text));
  if (named.empty()) named.push_back(default_run(context.catalog()));
  const std::vector<store::Run> runs = with_their_ranks(context.catalog(), named);
  std::vector<std::string> records;
  for (const store::Run& run : runs) {
    for (const store::Value& value : context.catalog().values(
             {.run = run.id, .names = {sampler_}, .first_epoch = -1, .hindsight = false})) {
      if (value.type == store::ValueType::json) {
        records.push_back(std::get<std::string>(value.value));
      }
    }
  }
  const std::vector<EpochAudit> audits = audit_samples(records);
  if (audits.empty()) {
    throw NotFound(fmt::format("no sampler logged a complete epoch under the name '{}' in run {}",
                               sampler_, title(runs.front())));
  }
  context.json() ? print_json(context, audits) : print_table(context, audits);
  const bool exact = std::ranges::all_of(audits, &EpochAudit::exact);
  return static_cast<int>(exact ? ExitStatus::done : ExitStatus::differs);
}

}  // namespace

std::unique_ptr<Command> make_audit() { return std::make_unique<Audit>(); }

}  // namespace flor::cli
