// A user's project in a git repository of its own: CMake, one program, an installed Flor. What its
// user would do by hand is done by the real cmake, git and flor.
#pragma once

#include "programs/workbench.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace flor::testing {

/// A training that a test can tell the version of: `rate` is in what it computes and logs.
inline std::string training(const std::string& rate, const std::string& more = "") {
  return R"cpp(#include <flor/flor.h>

#include "model.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

               int main(int argc, char** argv) {
                 const auto session = flor::init(argc, argv);
                 double total = 0, offset = 0;
                 std::ifstream("offset.txt") >> offset;  // beside the user, not beside the program
                 const auto state = flor::checkpoints(total);
                 for (int epoch : flor::loop("epoch", flor::arg("epochs", 3))) {
                   for (int step : flor::loop("train", 4)) {
                     total +=)cpp" +
         rate + R"cpp(*step + model();
                      }
                      flor::log("total", total + offset);
         )cpp" +
         more +
         R"cpp(std::printf("%d %g\n", epoch, total);
               }
               }
         )cpp";
}

/// Before a repository of a test gives the process another HOME.
inline const std::string kCompilerCache = [] {
  const char* given = std::getenv("CCACHE_DIR");
  const char* home = std::getenv("HOME");
  return given ? std::string(given) : std::string(home ? home : "/tmp") + "/.cache/ccache";
}();

class Project {
 public:
  explicit Project(const std::string& instrument = "flor_instrument(train)\n") {
    repository_.write("CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(trained LANGUAGES CXX)
find_package(flor REQUIRED COMPONENTS core)
option(FASTER "of the user's own" OFF)
add_library(model STATIC model.cpp)
add_executable(train train.cpp extra.cpp)
target_link_libraries(train model)
)" + instrument);
    repository_.write("train.cpp", training("1.5"));
    repository_.write("extra.cpp", "int extra() { return 1; }\n");
    repository_.write("model.cpp", "#include \"model.h\"\ndouble model() { return kModel; }\n");
    repository_.write("model.h", "constexpr double kModel = 1;\ndouble model();\n");
    repository_.write(".gitignore", "/build/\n");
    repository_.commit_all("first");
  }

  const GitRepository& repository() const { return repository_; }
  std::filesystem::path root() const { return repository_.root(); }
  std::filesystem::path home() const { return repository_.place() / "store"; }

  ProcessOptions options(const std::filesystem::path& directory = {}) const {
    return {.directory = directory.empty() ? root() : directory,
            .environment = {{"FLOR_HOME", home().string()},
                            {"FLOR_LOG", std::nullopt},
                            // What one test has compiled, another need not.
                            {"CCACHE_DIR", kCompilerCache},
                            {"CCACHE_BASEDIR", repository_.place().string()},
                            {"CCACHE_NOHASHDIR", "1"},
                            {"CCACHE_SLOPPINESS", "pch_defines,time_macros"},
                            {"CPATH", FLOR_TEST_HEADERS}},
            .timeout = std::chrono::milliseconds(240000)};
  }
  ProcessResult run(const Words& words, const std::filesystem::path& directory = {}) const {
    return run_process(words, options(directory));
  }
  ProcessResult flor(const Words& words, const std::filesystem::path& directory = {}) const {
    return run(Words{FLOR_CLI} + words, directory);
  }

  /// As Flor itself was built.
  static std::string sanitizer_flag() {
    const std::string names = FLOR_TEST_SANITIZE;
    return names.empty() ? "" : "-fsanitize=" + names;
  }
  void configure(const Words& more = {}, const std::string& generator = FLOR_TEST_GENERATOR) const {
    Words words{"cmake", "-S", ".", "-B", "build", "-G", generator, "-DCMAKE_BUILD_TYPE=Debug",
                "-DCMAKE_PREFIX_PATH=" FLOR_TEST_PREFIX, "-DCMAKE_CXX_COMPILER=" FLOR_TEST_COMPILER,
                "-DCMAKE_CXX_COMPILER_LAUNCHER=" FLOR_TEST_LAUNCHER,
                // Debugging information would take most of the time.
                "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -fpch-preprocess"};
    if (const std::string flag = sanitizer_flag(); !flag.empty()) {
      words.push_back("-DCMAKE_CXX_FLAGS=" + flag);
    }
    const ProcessResult result = run(words + more);
    ASSERT_EQ(result.status, 0) << result.out << result.err;
  }
  /// What the user's build tool wrote.
  std::string build() const {
    if (!std::filesystem::exists(root() / "build")) configure();
    const ProcessResult result = run({"cmake", "--build", "build", "--verbose"});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return result.out;
  }
  ProcessResult record(const Words& arguments = {}) const {
    ProcessResult result = run(Words{"./build/train", "--flor", "trained"} + arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  /// Builds what is there, records it, and returns the run.
  store::Run next_version(const std::string& train) const {
    repository_.write("train.cpp", train);
    build();
    record();
    return last_run();
  }
  store::Run last_run() const { return open()->catalog().runs().at(0); }
  std::shared_ptr<store::Store> open() const {
    return store::Store::open(home(), store::OpenMode::existing);
  }

  /// All that must stay as it is whatever Flor builds: files and their times, HEAD, index,
  /// branches.
  std::string users_state() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) {
      const std::string path = entry.path().lexically_relative(root()).string();
      if (path.starts_with(".git/") || !entry.is_regular_file()) continue;
      text += fmt::format("{} {} {}\n", path, entry.last_write_time().time_since_epoch().count(),
                          read_file(entry.path()).size());
    }
    for (const char* file : {".git/HEAD", ".git/index", ".git/logs/HEAD", ".git/config"}) {
      text += read_file(root() / file);
    }
    text += repository_.run_git({"for-each-ref"});
    text += repository_.run_git({"status", "--porcelain", "--ignored"});
    return text;
  }
  /// The logs of Flor's own builds, all together.
  std::string build_logs() const {
    std::string text;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(home() / "cache" / "versions")) {
      if (entry.path().extension() == ".log") text += read_file(entry.path());
    }
    return text;
  }

 private:
  GitRepository repository_;
};

inline std::string version_of(const store::Run& run) {
  return run.start.experiment + ":" + run.start.commit.substr(0, 8);
}

}  // namespace flor::testing
