#include "base/process_facts.h"

#include "base/hosted_program.h"

#include "protocol/program_of_run.h"

#include <flor/adapter.h>
#include <flor/store/digest.h>

#include <fmt/format.h>
#include <link.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace flor::detail {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::filesystem::path executable() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path;
}

std::vector<std::string> command_line(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(std::move(word));
  return words;
}

namespace {

/// Identifies an object by path, size and time, without reading it: it may be large, and one that
/// was built again has another time.
int add_own_object(dl_phdr_info* object, std::size_t, void* texts) {
  const std::string_view name = object->dlpi_name;
  if (name.find('/') == name.npos) return 0;  // the executable itself, or an object of the kernel
  for (const char* system : {"/lib/", "/lib64/", "/lib32/", "/usr/lib"}) {
    if (name.starts_with(system)) return 0;
  }
  struct stat facts{};
  if (::stat(object->dlpi_name, &facts) != 0) return 0;
  static_cast<std::vector<std::string>*>(texts)->push_back(
      fmt::format("{} {} {} {}", name, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec));
  return 0;
}

}  // namespace

std::string program_digest() {
  std::string digest = store::file_digest(executable());
  if (const HostedProgram* hosted = hosted_program()) digest += "\n" + hosted->digest();
  std::vector<std::string> objects;
  ::dl_iterate_phdr(add_own_object, &objects);
  if (objects.empty() && !hosted_program()) return digest;
  std::ranges::sort(objects);
  for (const std::string& object : objects) digest += "\n" + object;
  return store::digest_of(std::as_bytes(std::span(digest))).hex();
}

void run_on_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
  }
  if (CPU_COUNT(&set) == 0) return;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const int thread = std::atoi(task.path().filename().c_str());
    (void)::sched_setaffinity(thread, sizeof set, &set);  // a thread may have ended meanwhile
  }
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> facts;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) facts["host"] = host;
  facts["cores"] = std::to_string(std::thread::hardware_concurrency());
  facts["flor"] = FLOR_VERSION;
  facts["compiler"] = __VERSION__;
  if (const HostedProgram* hosted = hosted_program()) {
    facts[kInterpreterFact] = hosted->interpreter.string();
  }
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES",
        "CUBLAS_WORKSPACE_CONFIG", "RANK", "WORLD_SIZE", "SLURM_JOB_ID", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name)) facts[name] = value;
  }
  if (adapter().environment) facts.merge(adapter().environment());
  if (adapter().generators) facts["generators"] = adapter().generators();
  if (adapter().threads) facts["threads"] = std::to_string(adapter().threads());
  return facts;
}

std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

const std::map<std::string, std::string>& initial_environment() {
  // Never destroyed, since a session that ends with the process still uses it.
  static const auto* const facts = new auto(environment());
  return *facts;
}

void put_back_generators(const std::map<std::string, std::string>& environment) {
  const auto recorded = environment.find("generators");
  if (adapter().set_generators && recorded != environment.end()) {
    adapter().set_generators(recorded->second);
  }
}

std::vector<ChangedFact> changed_facts(const std::map<std::string, std::string>& then,
                                       const std::map<std::string, std::string>& now) {
  std::vector<ChangedFact> changed;
  const auto compare = [&](const std::string& name) {
    const auto a = then.find(name), b = now.find(name);
    if (a != then.end() && b != now.end() && a->second != b->second) {
      changed.push_back({name, a->second, b->second});
    }
  };
  for (const char* name : {"libtorch", "python", "numpy", "blas", "cpu capability"}) compare(name);
  for (const auto& [name, value] : then) {
    if (name.starts_with("cuda") || name.starts_with("cudnn")) compare(name);
  }
  for (const char* name : {"tf32", "deterministic algorithms", "flor"}) compare(name);
  return changed;
}

std::string print_seconds(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace flor::detail
