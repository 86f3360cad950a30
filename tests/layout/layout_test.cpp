// The rules of ARCHITECTURE.md about who may include what, checked by reading the sources.
#include "type_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = FLOR_SOURCE_DIR;

/// "file: header" for each include below `folder` that `forbidden` accepts.
template <typename Forbidden>
std::vector<std::string> offences(const std::string& folder, Forbidden&& forbidden,
                                  const std::string& except = "\n") {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string path = fs::relative(entry.path(), kRoot).string();
    const std::string extension = entry.path().extension().string();
    if ((extension != ".h" && extension != ".cpp") || path.starts_with(except)) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("#include ")) continue;
      const std::string header = line.substr(10, line.find_last_of(">\"") - 10);
      if (forbidden(header)) found.push_back(fmt::format("{}: {}", path, header));
    }
  }
  return found;
}

bool is_torch(const std::string& header) {
  return header.starts_with("torch/") || header.starts_with("ATen/") || header.starts_with("c10/");
}
bool is_sql(const std::string& header) { return header == "sqlite3.h"; }
bool is_git(const std::string& header) {
  return header.starts_with("git2") || header.starts_with("git/");
}
bool is_zstd(const std::string& header) { return header.starts_with("zstd"); }
bool is_runtime(const std::string& header) {
  return header.starts_with("flor/") && !header.starts_with("flor/store/");
}

/// Headers that make classes of libtorch's kind.
bool is_for_libtorch(const std::string& offence) {
  for (const char* name : {"plugin/probe_torch.h", "dist/process_group.h", "data/samplers.h",
                           "data/sharded_dataset.h"}) {
    if (offence.starts_with(std::string("runtime/include/flor/") + name + ": ")) return true;
  }
  return false;
}

using testing::IsEmpty;

TEST(Layout, AnOffenceWouldBeSeen) {
  EXPECT_THAT(offences("store", is_sql), testing::Not(IsEmpty()));
  EXPECT_THAT(offences("runtime", is_torch), testing::Not(IsEmpty()));
}

TEST(Layout, TheStoreKnowsNeitherLibtorchNorLoopsNorGit) {
  EXPECT_THAT(offences("store", [](auto& h) { return is_torch(h) || is_runtime(h) || is_git(h); }),
              IsEmpty());
}

TEST(Layout, TheCoreKnowsNeitherLibtorchNorSqlNorZstd) {
  auto found = offences(
      "runtime", [](auto& h) { return is_torch(h) || is_sql(h) || is_zstd(h); },
      "runtime/src/libtorch");
  std::erase_if(found, is_for_libtorch);
  EXPECT_THAT(found, IsEmpty());
}

TEST(Layout, TheAdapterKnowsNeitherSqlNorGit) {
  EXPECT_THAT(offences("runtime/src/libtorch", [](auto& h) { return is_sql(h) || is_git(h); }),
              IsEmpty());
}

TEST(Layout, TheGitSideKnowsNothingOfRunsAndLoops) {
  EXPECT_THAT(offences("runtime/git",
                       [](auto& h) {
                         return is_torch(h) || is_sql(h) || is_runtime(h) ||
                                h == "flor/store/catalog.h" || h == "flor/store/store.h";
                       }),
              IsEmpty());
}

TEST(Layout, TheCommandLineToolKnowsNeitherLibtorchNorSql) {
  EXPECT_THAT(offences("cli", [](auto& h) { return is_torch(h) || is_sql(h) || is_zstd(h); }),
              IsEmpty());
}

TEST(Layout, PublicHeadersIncludeNoHeaderOfADependency) {
  const auto foreign = [](const std::string& header) {
    return is_torch(header) || is_sql(header) || is_git(header) || is_zstd(header) ||
           header.starts_with("fmt/") || header.starts_with("nlohmann/") ||
           header.starts_with("CLI/") || header.starts_with("xxh");
  };
  EXPECT_THAT(offences("store/include", foreign), IsEmpty());
  auto found = offences("runtime/include", foreign);
  std::erase_if(found, is_for_libtorch);
  EXPECT_THAT(found, IsEmpty());
}

/// Below `folders`, the files in which a line has one of the words and matches, as
/// "cli/src/process/child.cpp".
std::set<std::string> files_with(const std::vector<std::string>& folders,
                                 const std::vector<std::string>& words,
                                 const std::regex& pattern = std::regex("")) {
  std::set<std::string> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.find_first_not_of(' ') == line.find("//")) continue;
        const bool may = std::ranges::any_of(
            words, [&](const std::string& word) { return line.find(word) != line.npos; });
        if (may && std::regex_search(line, pattern)) {
          files.insert(fs::relative(entry.path(), kRoot).string());
          break;
        }
      }
    }
  }
  return files;
}

/// All places that start a process or load a library, with what they start.
const std::map<std::string, std::string> kStarts = {
    {"cli/src/build/build_tools.cpp", "a BuildPlan, which needs a Permit"},
    {"cli/src/process/child.cpp", "words of its callers, which are these"},
    {"cli/src/process/child.h", "the same"},
    {"cli/src/build/git_worktree.cpp", "git"},
    {"cli/src/seats/seat.cpp", "this flor, to fetch"},
    {"cli/src/launch/seat_starter.cpp", "words of --engine"},
    {"cli/src/doctor/machine.cpp", "the BLAS of this machine"},
    {"cli/src/replay/worker_process.cpp", "a Launch, which needs a Permit"},
    {"cli/src/sweep/point_process.cpp", "the program of a plan that is this user's alone"},
    {"cli/src/launch/left_jobs.cpp", "scancel"},
    {"cli/src/launch/slurm_job.cpp", "sbatch, srun, squeue, scancel"},
    {"cli/src/launch/slurm_job.h", "the same"},
    {"cli/src/watch/evaluators/evaluator.cpp", "python3, to find a module that the user named"},
    {"cli/src/watch/evaluators/evaluator_main.cpp", "an evaluator of the command line"},
    {"cli/src/watch/evaluators/evaluator_process.cpp", "the same"},
    {"runtime/git/tree/filters.cpp", "what the configuration of the user's repository says"},
    {"runtime/src/libtorch/device_copy.cpp", "the CUDA driver"},
    {"runtime/src/libtorch/process.cpp", "the same"},
    {"runtime/src/plugin/plugin.cpp", "a plug-in of the command line"},
    {"runtime/src/verdict/verifier_process.cpp", "this very program"},
    {"store/src/checkpoint/elsewhere.cpp", "flor, as the replay that set the variable says"},
    {"store/src/base/late_library.cpp", "libraries by their sonames"},
};

std::set<std::string> keys_of(const std::map<std::string, std::string>& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) keys.insert(key);
  return keys;
}

TEST(Layout, ProcessesAreStartedInTheseFilesAlone) {
  const std::regex starts(
      "posix_spawnp?\\(|\\bexec[lv][a-z]*\\(|\\bv?fork\\(\\)|\\bpopen\\(|(^|[^m])::system\\(|"
      "\\bdlopen\\(|\\brun_child\\(|\\bChildProcess\\b[>( ]");
  EXPECT_EQ(files_with({"cli/src", "runtime", "store/src"},
                       {"spawn", "exec", "fork", "popen", "system", "dlopen", "run_child", "Child"},
                       starts),
            keys_of(kStarts));
}

TEST(Layout, WhatARunSaysIsStartedByNoFileThatStartsProcesses) {
  const std::regex recorded(
      "run_?(\\(\\))?(\\.run)?\\.start\\.(program|command|directory|environment)");
  const std::vector<std::string> folders{"cli/src", "runtime", "store/src"};
  std::set<std::string> both;
  for (const std::string& file : files_with(folders, {".start."}, recorded)) {
    if (kStarts.contains(file)) both.insert(file);
  }
  EXPECT_THAT(both, IsEmpty());
}

TEST(Layout, OnlyTheGateLetsWhatARunSaysBeExecuted) {
  using Files = std::set<std::string>;
  const std::vector<std::string> cli{"cli"};
  EXPECT_EQ(files_with(cli, {"Permit("}),
            (Files{"cli/src/trust/permit.cpp", "cli/src/trust/permit.h"}));
  EXPECT_EQ(files_with(cli, {"friend class Gate"}), Files{"cli/src/trust/permit.h"});
  EXPECT_EQ(files_with(cli, {"Gate::ordered("}), Files{"cli/src/seats/seat_session.cpp"});
  EXPECT_EQ(files_with(cli, {"Gate::named("}), Files{"cli/src/build/program_launch.cpp"});
}

/// Where a commit is looked for in the repository that a run names: sources.cpp has the rule.
TEST(Layout, RepositoriesAreOpenedInTheseFilesAlone) {
  const std::set<std::string> files = files_with({"cli/src", "runtime"}, {"discover("});
  EXPECT_EQ(files,
            (std::set<std::string>{
                "cli/src/build/version_build.cpp", "cli/src/doctor/store_health.cpp",
                "cli/src/hindsight/version_questions.cpp", "cli/src/view/sources.cpp",
                "runtime/git/shadow.cpp", "runtime/git/shadow.h", "runtime/src/replay/probes.cpp",
                "runtime/protocol/program_of_run.cpp", "runtime/src/record/recorder.cpp",
                "runtime/src/resume/changes.cpp", "runtime/src/record/source_packing.cpp"}));
  const auto named = files_with({"cli/src", "runtime"}, {"start.repository"},
                                std::regex("emplace_back\\(run\\.start\\.repository|"
                                           "(open|discover)\\(run\\.start\\.repository"));
  EXPECT_EQ(named,
            (std::set<std::string>{"cli/src/view/sources.cpp", "runtime/src/replay/probes.cpp"}));
}

/// The name of each type that the sources define outside unnamed namespaces, with its files: the
/// linker takes one of two definitions of a name for both, without a word.
std::map<std::string, std::set<std::string>> types_of(const std::vector<std::string>& folders) {
  std::map<std::string, std::set<std::string>> types;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream in(entry.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      for (const std::string& name : layout::defined_types(text)) {
        types[name].insert(fs::relative(entry.path(), kRoot).string());
      }
    }
  }
  return types;
}

TEST(Layout, TypesAreFoundWithTheirNamespaces) {
  EXPECT_THAT(
      layout::defined_types(R"cpp(
        // class Comment {};
#define MACRO    \
          struct Macro { \
            int a;       \
          };
        namespace a::b {
        struct One {
          struct Inner {};
          int f() {
            struct Local {};
            return 1'000;
          }
        };
        template <typename T>
        class Two final : public Base<T> {};
        template <>
        struct Two<int> {};
        class Declared;
        struct stat f(int) {
          return {};
        }
        enum class Kind : int { x };
        const char* kText = "struct Quoted {";
        const char kBrace = '{';
        namespace {
        struct Hidden {};
        namespace inner {
        struct HiddenToo {};
        }  // namespace inner
        }  // namespace
        namespace {
        namespace deep {}
        }  // namespace
        struct Three {};
        }  // namespace a::b
        struct Outside {};
      )cpp"),
      testing::ElementsAre("a::b::One", "a::b::Two", "a::b::Kind", "a::b::Three", "Outside"));
}

TEST(Layout, NoTwoTypesOfANamespaceHaveOneName) {
  std::vector<std::string> twice;
  const auto types = types_of({"cli", "runtime", "store"});
  EXPECT_GT(types.size(), 600U);
  for (const auto& [name, files] : types) {
    if (files.size() > 1) twice.push_back(fmt::format("{}: {}", name, fmt::join(files, ", ")));
  }
  EXPECT_THAT(twice, IsEmpty());
}

/// The folders of the table in ARCHITECTURE.md, in its order, as "store/src/base".
std::vector<std::string> folders_in_order() {
  const std::regex row(R"(^\| `((?:store|runtime|cli)/[a-z_/]+)/` \|)");
  std::vector<std::string> folders;
  std::ifstream in(kRoot / "ARCHITECTURE.md");
  for (std::string line; std::getline(in, line);) {
    std::smatch found;
    if (std::regex_search(line, found, row)) folders.push_back(found.str(1));
  }
  return folders;
}

/// The folder of the table that a file lies in; the folder itself for what lies above the table.
std::string room_of(const std::string& file, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (file.starts_with(folder + "/")) return folder;
  }
  return fs::path(file).parent_path().string();
}

TEST(Layout, FoldersIncludeOnlyWhatIsAboveThemInTheTable) {
  const std::vector<std::string> folders = folders_in_order();
  std::map<std::string, std::size_t> order;
  for (const std::string& folder : folders) order.emplace(folder, order.size());
  std::set<std::string> unknown;
  std::vector<std::string> upwards;
  std::size_t seen = 0;
  for (const char* top : {"store/src", "runtime", "cli/src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension().string();
      const std::string file = fs::relative(entry.path(), kRoot).string();
      if ((extension != ".h" && extension != ".cpp") || file.starts_with("runtime/include"))
        continue;
      const std::string from = room_of(file, folders);
      if (!order.contains(from)) {
        if (from != "store/src" && from != "cli/src") unknown.insert(from);
        continue;
      }
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("#include \"")) continue;
        const std::string header = line.substr(10, line.rfind('"') - 10);
        for (const char* root : {"store/src/", "runtime/", "runtime/src/", "cli/src/"}) {
          if (!fs::exists(kRoot / root / header)) continue;
          const auto to = order.find(room_of(root + header, folders));
          ++seen;
          if (to == order.end() || to->second > order.at(from))
            upwards.push_back(file + ": " + header);
          break;
        }
      }
    }
  }
  EXPECT_THAT(unknown, IsEmpty()) << "folders that are not in the table";
  EXPECT_THAT(upwards, IsEmpty());
  EXPECT_GT(seen, 1000U);
}

TEST(Layout, AFolderHasAtMostFifteenRooms) {
  std::map<std::string, std::set<std::string>> rooms;
  for (const char* top : {"store", "runtime", "cli", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || name == "CMakeLists.txt" || name.ends_with(".pyc")) continue;
      const std::string folder = fs::relative(entry.path().parent_path(), kRoot).string();
      rooms[folder].insert(name.substr(0, name.find('.')));
    }
  }
  std::vector<std::string> crowded;
  for (const auto& [folder, names] : rooms) {
    if (names.size() > 15) crowded.push_back(fmt::format("{}: {}", folder, names.size()));
  }
  EXPECT_THAT(crowded, IsEmpty());
  EXPECT_GT(rooms.size(), 50U);
}

TEST(Layout, TheStoreHasAtMostNinePublicHeaders) {
  std::set<std::string> headers;
  for (const auto& entry : fs::directory_iterator(kRoot / "store/include/flor/store")) {
    headers.insert(entry.path().filename().string());
  }
  EXPECT_EQ(headers,
            (std::set<std::string>{"catalog.h", "checkpoint.h", "digest.h", "error.h",
                                   "keep_rules.h", "secrets.h", "store.h", "used_files.h"}));
}

TEST(Layout, EverySourceFileIsReadableInOneSitting) {
  std::vector<std::string> long_files;
  for (const char* folder : {"store", "runtime", "cli", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      int lines = 0;
      for (std::string line; std::getline(in, line);) ++lines;
      if (lines > 700) long_files.push_back(entry.path().string());
    }
  }
  EXPECT_THAT(long_files, IsEmpty());
}

TEST(Layout, ThePortOfVcpkgHasTheVersionOfTheProject) {
  const auto found = [](const char* file, const char* pattern) {
    std::ifstream in(kRoot / file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::smatch match;
    return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : file;
  };
  EXPECT_EQ(found("packaging/vcpkg/flor/vcpkg.json", R"re("version": "([0-9.]+)")re"),
            found("CMakeLists.txt", R"re(project\(flor VERSION ([0-9.]+))re"));
}

}  // namespace
