// flor doctor: checks the installation and the store, and names remedies.
#include "commands/commands.h"
#include "doctor/doctor_findings.h"
#include "doctor/rank_meeting.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
#include "shell/current_settings.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace flor::cli {
namespace {

class Doctor final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override { return "check the installation and the store"; }
  std::string_view lesson() const override {
    return R"(Looks at the versions of Flor and its libraries, the libtorch and the BLAS that programs would
get here, threads, the store and its file system, the git repository around this directory, what
would make replays of the latest runs inexact, and what was left unfinished. Changes nothing. Each
line says ok, warn or fail; below those that do not say ok stands what to do.

With --ranks, started by the launcher of a job in the place of the training (torchrun, srun, mpirun,
or with RANK and WORLD_SIZE set), the ranks meet in the home: whether all see the same one, the same
commit and libraries, whether clocks agree and locks hold between them, whether each has a GPU of
its own, and how fast they write together. Rank 0 prints it; all end with the same status. A rank
is waited for as long as the setting rank_timeout says.

The status is 1 if anything fails, else 0.

Examples:
  flor doctor                                  look
  flor doctor --json                           the same for programs
  srun flor doctor --ranks && srun ./train     before a job
)";
  }
  void setup(Syntax& syntax) override {
    syntax.flag("--ranks", ranks_, "check the ranks of this job together, before a training");
  }
  int run(Context& context) override;

 private:
  int run_ranks(Context& context) const;

  bool ranks_ = false;
};

Tone tone_of(Health health) {
  return health == Health::ok ? Tone::good : health == Health::warning ? Tone::warning : Tone::bad;
}

void print_findings(Context& context, const Findings& findings) {
  Output& out = context.out();
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.topic.size());
  for (const Finding& finding : findings) {
    const std::string word = fmt::format("{:<4}", to_string(finding.health));
    out.write(fmt::format("{}  {:<{}}  {}\n", context.style().paint(tone_of(finding.health), word),
                          finding.topic, width, printable(finding.what)));
    if (finding.health != Health::ok && !finding.advice.empty()) {
      out.write(fmt::format("      {:<{}}  -> {}\n", "", width, printable(finding.advice)));
    }
  }
}

void print_ranks(Context& context, const std::vector<RankFacts>& ranks) {
  Table table({{"rank", Align::right},
               {"host"},
               {"commit"},
               {"GPU"},
               {"clock", Align::right},
               {"writes", Align::right}});
  for (const RankFacts& rank : ranks) {
    table.add(fmt::format("{}", rank.rank));
    table.add(rank.host);
    table.add(rank.commit.empty() ? "-" : rank.commit.substr(0, 8));
    table.add(rank.gpu.empty() ? "-" : fmt::format("{} {}", rank.gpu_name, rank.gpu.substr(0, 12)));
    table.add(rank.rank == 0 ? "-" : fmt::format("{:+.3f} s", rank.clock_seconds));
    table.add(bytes(static_cast<std::uint64_t>(rank.written_bytes)) + "/s");
  }
  table.print(context.out(), context.style());
  context.out().write("\n");
}

void print_json(Context& context, const Findings& findings,
                const std::vector<RankFacts>& ranks = {}) {
  Json result = document("doctor");
  for (const RankFacts& rank : ranks) result["ranks"].push_back(rank_json(rank));
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"topic", finding.topic},
                    {"health", std::string(to_string(finding.health))},
                    {"what", finding.what},
                    {"advice", json_text(finding.advice)}});
  }
  result["findings"] = std::move(list);
  print(context.out(), result);
}

int Doctor::run_ranks(Context& context) const {
  const store::Settings& settings = current_settings();
  const RankReport report =
      meet_ranks(settings.get("home").value, launched_rank(),
                 std::chrono::duration<double>(std::stod(settings.get("rank_timeout").value)));
  if (context.json()) {
    if (!report.findings.empty()) print_json(context, report.findings, report.ranks);
  } else {
    if (!report.ranks.empty()) print_ranks(context, report.ranks);
    print_findings(context, report.findings);
  }
  return static_cast<int>(report.fails ? ExitStatus::failed : ExitStatus::done);
}

int Doctor::run(Context& context) {
  if (ranks_) return run_ranks(context);
  Findings findings;
  examine_machine(findings);
  const store::Setting& home = current_settings().get("home");
  findings.push_back({"home", Health::ok,
                      fmt::format("{} ({})", home.value,
                                  home.where.empty() ? std::string("default") : home.where)});
  examine_store(home.value, findings);
  examine_repository(findings);
  context.json() ? print_json(context, findings) : print_findings(context, findings);
  const bool fails = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.health == Health::failure; });
  return static_cast<int>(fails ? ExitStatus::failed : ExitStatus::done);
}

}  // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace flor::cli
