#include "base/library_versions.h"
#include "doctor/doctor_findings.h"
#include "git/library_version.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_paths(const char* variable) {
  std::vector<std::string> paths;
  const char* text = std::getenv(variable);
  std::string rest = text ? text : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(":;"), rest.size());
    if (end > 0) paths.push_back(rest.substr(0, end));
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return paths;
}

/// The directories in which libtorch may be installed.
std::vector<fs::path> library_directories() {
  std::vector<fs::path> found;
  for (const std::string& path : split_paths("LD_LIBRARY_PATH")) found.emplace_back(path);
  for (const std::string& path : split_paths("CMAKE_PREFIX_PATH")) {
    found.push_back(fs::path(path) / "lib");
  }
  for (const char* path : {"/usr/local/lib", "/opt/libtorch/lib", "/usr/lib"}) {
    found.emplace_back(path);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib", error)) {
    if (entry.path().filename().string().ends_with("-linux-gnu")) found.push_back(entry.path());
  }
  return found;
}

/// The version of libtorch: from its header, or else from the name of the file that the link points
/// to.
std::string torch_version(const fs::path& library) {
  const fs::path prefix = library.parent_path().parent_path();
  for (const fs::path& include : {prefix / "include", prefix.parent_path() / "include"}) {
    std::ifstream in(include / "torch/csrc/api/include/torch/version.h");
    for (std::string line; std::getline(in, line);) {
      constexpr std::string_view kDefinition = "define TORCH_VERSION \"";
      const std::size_t at = line.find(kDefinition);
      if (at == line.npos) continue;
      const std::size_t begin = at + kDefinition.size();
      return line.substr(begin, line.find('"', begin) - begin);
    }
  }
  std::error_code error;
  const std::string name = fs::canonical(library, error).filename().string();
  const std::size_t begin = name.find(".so.");
  return error || begin == name.npos ? "of unknown version" : name.substr(begin + 4);
}

void examine_torch(Findings& findings) {
  for (const fs::path& directory : library_directories()) {
    std::error_code error;
    if (!fs::is_directory(directory, error)) continue;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      if (!entry.path().filename().string().starts_with("libtorch_cpu.so")) continue;
      findings.push_back(
          {"libtorch", Health::ok,
           fmt::format("{} in {}", torch_version(entry.path()), directory.string())});
      return;
    }
  }
  findings.push_back({"libtorch", Health::ok,
                      "none in the usual places; programs without it need none (flor::core)"});
}

void examine_blas(Findings& findings) {
  const std::string library = blas_here();
  if (library.empty()) {
    findings.push_back({"BLAS", Health::ok, "no libblas.so.3"});
  } else if (library.find("/blas/libblas.so") != library.npos) {
    findings.push_back({"BLAS", Health::warning,
                        fmt::format("{} is the reference BLAS, which is many times slower than "
                                    "others",
                                    library),
                        "install libopenblas0-pthread"});
  } else {
    findings.push_back({"BLAS", Health::ok, library});
  }
}

void examine_threads(Findings& findings) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int usable = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  std::string text = fmt::format("{} cores", cores);
  if (usable > 0 && usable < cores) text += fmt::format(", {} of them for this process", usable);
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    if (const char* value = std::getenv(name)) text += fmt::format(", {}={}", name, value);
  }
  findings.push_back({"threads", Health::ok, text});
  const char* dynamic = std::getenv("OMP_DYNAMIC");
  const std::string_view set_to = dynamic ? dynamic : "";
  if (set_to == "true" || set_to == "TRUE" || set_to == "1") {
    findings.push_back({"threads", Health::warning,
                        "OMP_DYNAMIC lets the number of threads change, and with it every sum",
                        "unset OMP_DYNAMIC"});
  }
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warning:
      return "warn";
    case Health::failure:
      return "fail";
  }
  return "unknown";
}

std::string blas_here() {
  void* const handle = ::dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return {};
  link_map* map = nullptr;
  std::string path;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) {
    std::error_code error;
    path = fs::canonical(map->l_name, error).string();
    if (error) path = map->l_name;
  }
  return path;  // never unloaded: some of these libraries have started threads
}

void examine_machine(Findings& findings) {
  std::string libraries = fmt::format("libgit2 {}", git::library_version());
  for (const auto& [name, version] : store::library_versions()) {
    libraries += fmt::format(", {} {}", name, version);
  }
  findings.push_back({"flor", Health::ok, fmt::format("{}, with {}", FLOR_VERSION, libraries)});
  examine_torch(findings);
  examine_blas(findings);
  examine_threads(findings);
}

}  // namespace flor::cli
