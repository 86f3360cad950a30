// The rules of docs/design.md about who may include what, checked by reading the sources.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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
  for (const char* name : {"probe_torch.h", "process_group.h", "samplers.h", "sharded_dataset.h"}) {
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
  EXPECT_THAT(offences("runtime/src/git",
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

}  // namespace
