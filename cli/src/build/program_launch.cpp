#include "build/program_launch.h"

#include "output/terminal_text.h"
#include "process/child.h"
#include "protocol/flag_names.h"
#include "protocol/flags.h"
#include "protocol/program_of_run.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

/// Environment variables that a replay sets, or unsets, as in the recording, because they determine
/// the number of threads and thereby the result of every sum, or other results. No other recorded
/// variable reaches a process.
constexpr const char* kKept[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                 "CUBLAS_WORKSPACE_CONFIG", "PYTHONHASHSEED"};

/// Environment variables that make a process a rank. They are unset for a run without ranks,
/// however `flor` itself was started; the Coordinator sets them for ranks.
constexpr const char* kPlace[] = {"RANK",         "WORLD_SIZE",          "LOCAL_RANK",
                                  "SLURM_PROCID", "SLURM_LOCALID",       "LOCAL_WORLD_SIZE",
                                  "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"};

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return fs::absolute(name).lexically_normal().string();
  if (const auto found = find_on_path(name)) return *found;
  throw NotFound(fmt::format("there is no program '{}' on PATH: give its path", printable(name)));
}

void refuse_flags(const std::vector<std::string>& given) {
  for (const std::string& word : given) {
    if (word == "--") return;
    const std::string flag =
        detail::canonical_flag(std::string_view(word).substr(0, word.find('=')));
    const bool ours =
        flag.starts_with("--flor") || flag.starts_with("--replay") || flag == "--kwargs";
    if (!ours) continue;
    throw UsageError(fmt::format(
        "{} after --: flor replay says itself which run, and the arguments are the recorded ones; "
        "leave Flor's flags out",
        printable(word)));
  }
}

/// Whether a value is harmless: a number, a word, or a list of them. Other values are not passed
/// on.
bool is_plain(const std::string& value) {
  constexpr std::size_t kLength = 64;
  return value.size() <= kLength && std::ranges::all_of(value, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == ',' || c == ':';
         });
}

int recorded_threads(const store::Run& run) {
  constexpr int kThreadsMax = 4096;
  int threads = 1;
  for (const char* name :
       {"threads", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    const auto found = run.start.environment.find(name);
    if (found != run.start.environment.end()) {
      threads = std::max(threads, std::atoi(found->second.c_str()));
    }
  }
  return std::min(threads, kThreadsMax);
}

/// Makes the launch of a script start the interpreter that recorded it.
void add_interpreter(Launch& launch, const store::Run& run) {
  const std::string interpreter = detail::interpreter_of(run);
  if (interpreter.empty() || launch.program != run.start.program) return;
  std::error_code error;
  if (!fs::is_regular_file(launch.program, error)) {
    throw NotFound(fmt::format(
        "the script {} is not there: name another: flor replay {} -- {} SCRIPT ARGS",
        printable(launch.program), run.key.substr(0, 8), printable(interpreter)));
  }
  launch.digest = store::file_digest(launch.program);
  launch.program = interpreter;
  if (!launch.command.empty()) launch.command.front() = interpreter;
}

void check_program(const Launch& launch, const store::Run& run) {
  if (::access(launch.program.c_str(), X_OK) == 0) return;
  throw NotFound(fmt::format(
      "the program {} is not there: build it, or name another: flor replay {} -- PROGRAM ARGS",
      printable(launch.program), run.key.substr(0, 8)));
}

/// Whether the word at `at` is an argument for flor::arg. flor::arg itself takes a secret from the
/// environment, so such a word stays masked.
bool is_kwarg(const std::vector<std::string>& words, std::size_t at) {
  const auto flag = [](const std::string& word) {
    return detail::canonical_flag(std::string_view(word).substr(0, word.find('=')));
  };
  if (flag(words[at]) == "--kwargs") return true;
  while (at > 0 && words[at][0] != '-' && words[at].find('=') != std::string::npos) --at;
  return flag(words[at]) == "--kwargs";
}

/// The recorded command line without Flor's own flags, as the user may type it after --.
std::string command_to_give(const store::RecordedCommand& command) {
  std::vector<std::string> words{command.words().front()};
  for (std::string& word : detail::own_arguments(command.words())) words.push_back(std::move(word));
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + (store::is_masked(word) ? word : shell_word(word));
  }
  return printable(text);
}

/// The recorded command line with masked secrets replaced from the environment.
std::vector<std::string> with_secrets(const store::Run& run) {
  std::vector<std::string> words = run.start.command.words(), names, variables;
  for (const store::MaskedWord& masked : run.start.command.masked_words()) {
    const std::string variable = store::secret_variable(masked.name);
    const char* value = std::getenv(variable.c_str());
    if (!value || !*value) {
      names.push_back(masked.begins == 0 && masked.name[0] != '-' ? "word " + masked.name
                                                                  : masked.name);
      variables.push_back(variable + "=VALUE");
    } else if (!is_kwarg(words, masked.at)) {
      words[masked.at].replace(masked.begins, std::string::npos, value);
    }
  }
  if (names.empty()) return words;
  throw UsageError(fmt::format(
      "run {} was started with a secret, which no record keeps ({}): give it again, as {} in the "
      "environment, or give the command: flor replay {} -- {}",
      run.key.substr(0, 8), printable(fmt::format("{}", fmt::join(names, ", "))),
      fmt::join(variables, " "), run.key.substr(0, 8), command_to_give(run.start.command)));
}

/// Sets the directory, arguments, environment and threads, which do not depend on the chosen
/// program.
void prepare(Launch& launch, const store::Run& run, std::optional<int> threads) {
  std::error_code error;
  if (!fs::is_directory(launch.directory, error)) {
    throw NotFound(
        fmt::format("the directory {} in which the run was recorded is gone: name the "
                    "program from another one: flor replay {} -- PROGRAM ARGS",
                    printable(launch.directory), run.key.substr(0, 8)));
  }
  launch.arguments = detail::own_arguments(store::RecordedCommand(launch.command).words());
  const auto as_it_was = [&](const char* name) {
    const auto found = run.start.environment.find(name);
    const bool is_set = found != run.start.environment.end() && is_plain(found->second);
    launch.environment[name] = is_set ? std::optional(found->second) : std::nullopt;
  };
  for (const char* name : kKept) as_it_was(name);
  for (const char* name : kPlace) as_it_was(name);
  if (threads) {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
      if (launch.environment[name]) launch.environment[name] = std::to_string(*threads);
    }
  }
  launch.threads = threads.value_or(recorded_threads(run));
}

}  // namespace

Launch launch_of(const store::Run& run, const ProgramChoice& choice, const Permit& permit,
                 std::optional<int> threads) {
  Launch launch(permit);
  launch.program = launch.shown = choice.program;
  launch.why = choice.why;
  launch.command = with_secrets(run);
  launch.directory = run.start.directory;
  require_program(run);
  add_interpreter(launch, run);
  if (!choice.to_be_built) check_program(launch, run);
  prepare(launch, run, threads);
  if (!choice.to_be_built && launch.digest.empty()) launch.digest = store::file_digest(launch.program);
  return launch;
}

Launch launch_of(const store::Run& run, const std::vector<std::string>& given,
                 std::optional<int> threads) {
  refuse_flags(given);
  Launch launch(Gate::named());
  launch.program = launch.shown = find_program(given.front());
  launch.why = "as the command says";
  launch.command = given;
  launch.directory = fs::current_path().string();
  check_program(launch, run);
  prepare(launch, run, threads);
  launch.digest = store::file_digest(launch.program);
  return launch;
}

std::vector<int> cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<std::vector<int>> core_sets(int workers, int threads) {
  std::vector<std::vector<int>> sets(static_cast<std::size_t>(workers));
  const std::vector<int> cores = cores_here();
  if (static_cast<std::size_t>(workers) * static_cast<std::size_t>(threads) > cores.size()) {
    return sets;
  }
  auto next = cores.begin();
  for (std::vector<int>& set : sets) {
    set.assign(next, next + threads);
    next += threads;
  }
  return sets;
}

}  // namespace flor::cli
