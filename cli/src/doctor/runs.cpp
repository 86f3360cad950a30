#include "choose/run_spec.h"
#include "doctor/doctor_findings.h"
#include "output/terminal_text.h"
#include "protocol/program_of_run.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

/// The latest run of at most so many experiments, the newest ones, is examined.
constexpr std::size_t kExperiments = 20;

std::string fact(const store::Run& run, const std::string& name) {
  const auto found = run.start.environment.find(name);
  return found == run.start.environment.end() ? std::string() : found->second;
}

/// Compares the recorded environment with the one that a replay on this machine would have.
void compare_environment(const store::Run& run, Findings& findings) {
  const std::string title = cli::title(run);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  if (const std::string then = fact(run, "host"); !then.empty() && then != host) {
    findings.push_back({"replay", Health::warning,
                        fmt::format("{} was recorded on {}: another CPU may round differently",
                                    title, printable(then)),
                        "replay it there, or see what the comparison says"});
  }
  const std::string blas = fact(run, "blas"), here = blas_here();
  if (blas.starts_with('/') && !here.empty() && blas != here && fact(run, "host") == host) {
    findings.push_back(
        {"replay", Health::warning,
         fmt::format("{} computed with {}, here it would be {}", title, printable(blas), here),
         "choose that BLAS again (update-alternatives)"});
  }
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    const char* now = std::getenv(name);
    const std::string then = fact(run, name);
    if (then == (now ? now : "")) continue;
    findings.push_back(
        {"replay", Health::warning,
         fmt::format("{} had {}, here it is {}: sums are split differently", title,
                     then.empty() ? fmt::format("no {}", name) : fmt::format("{}={}", name, then),
                     now ? now : "not set"),
         "flor replay sets it as it was; so has to who starts the program by hand"});
  }
}

/// Warns of settings with which GPUs may compute different results each time.
void look_at_gpus(const store::Run& run, Findings& findings) {
  if (fact(run, "cuda0").empty()) return;
  const std::string title = cli::title(run);
  if (fact(run, "deterministic algorithms") == "off") {
    findings.push_back({"replay", Health::warning,
                        fmt::format("{} used GPUs without deterministic algorithms", title),
                        "at::globalContext().setDeterministicAlgorithms(true, false) and "
                        "CUBLAS_WORKSPACE_CONFIG=:4096:8"});
  }
  if (fact(run, "cudnn.benchmark") == "on") {
    findings.push_back({"replay", Health::warning,
                        fmt::format("{} let cuDNN choose its algorithms by their time", title),
                        "at::globalContext().setBenchmarkCuDNN(false)"});
  }
  if (fact(run, "CUBLAS_WORKSPACE_CONFIG").empty()) {
    findings.push_back({"replay", Health::warning,
                        fmt::format("{} had no CUBLAS_WORKSPACE_CONFIG", title),
                        "set CUBLAS_WORKSPACE_CONFIG=:4096:8"});
  }
}

void look_at_program(const store::Store& store, const store::Run& run, Findings& findings) {
  if (run.start.program.empty() || !run.origin.recorded_here()) return;
  if (const auto build = store.catalog().build(run.id); build && !build->remark.empty()) {
    findings.push_back(
        {"program", Health::warning, fmt::format("{}: {}", title(run), printable(build->remark)),
         "what is kept may not be what ran: build in the repository, before recording"});
  }
  const std::string digest = store::file_digest(run.start.program);
  if (digest.empty()) {
    findings.push_back({"program", Health::warning,
                        fmt::format("{} of {} is gone", printable(run.start.program), title(run)),
                        "build it; flor replay builds old versions itself where flor_instrument "
                        "was used"});
  } else if (digest != run.start.program_digest && detail::interpreter_of(run).empty()) {
    findings.push_back(
        {"program", Health::ok,
         fmt::format("{} was built again since {}", printable(run.start.program), title(run))});
  }
}

void look_at_unfinished(const store::Store& store, const std::vector<store::Run>& runs,
                        Findings& findings) {
  std::size_t running = 0;
  std::vector<const store::Run*> interrupted;
  for (const store::Run& run : runs) {
    running += run.state == store::RunState::running ? 1 : 0;
    if (run.state == store::RunState::interrupted) interrupted.push_back(&run);
    if (!run.degraded.empty() && run.state == store::RunState::running) {
      findings.push_back(
          {"runs", Health::warning,
           fmt::format("{} could not be stored for a while: {}", title(run),
                       printable(run.degraded)),
           fmt::format("flor show {} says why; a replay executes such epochs again",
                       short_key(run))});
    }
  }
  findings.push_back(
      {"runs", Health::ok, fmt::format("{} recorded, {} being recorded", runs.size(), running)});
  if (!interrupted.empty()) {
    findings.push_back({"runs", Health::warning,
                        fmt::format("{} interrupted, the latest is {}", interrupted.size(),
                                    title(*interrupted.front())),
                        "--flor_resume goes on with it; its complete epochs can be replayed as "
                        "they are"});
  }
  // The kernel releases the lock of a dead process, but the lock file may stay.
  std::set<std::string> known;
  for (const store::Run& run : runs) known.insert(run.key);
  std::size_t stale = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(store.home() / "locks", error)) {
    const std::string name = entry.path().stem().string();
    if (name.size() == 16 && !known.contains(name)) ++stale;
  }
  if (stale > 0) {
    findings.push_back({"locks", Health::ok,
                        fmt::format("{} of runs that are not in the catalog; they do no harm",
                                    stale == 1 ? "1 file" : fmt::format("{} files", stale))});
  }
}

}  // namespace

void examine_runs(const store::Store& store, Findings& findings) {
  const std::vector<store::Run> runs = store.catalog().runs();
  look_at_unfinished(store, runs, findings);
  std::set<std::string> seen;
  for (const store::Run& run : runs) {
    if (seen.size() == kExperiments || !seen.insert(run.start.experiment).second) continue;
    compare_environment(run, findings);
    look_at_gpus(run, findings);
    look_at_program(store, run, findings);
  }
}

}  // namespace flor::cli
