// flor doctor: checks the installation and the store, and names remedies.
#include "commands/commands.h"
#include "doctor/doctor_findings.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "shell/context.h"
#include "shell/current_settings.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

The status is 1 if anything fails, else 0.

Examples:
  flor doctor                 look
  flor doctor --json          the same for programs
)";
  }
  void setup(Syntax&) override {}
  int run(Context& context) override;
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

void print_json(Context& context, const Findings& findings) {
  Json result = document("doctor");
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

int Doctor::run(Context& context) {
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
