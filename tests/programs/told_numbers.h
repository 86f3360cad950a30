// The numbers of a run: what its last line, `flor list` and `flor show` say of its epochs,
// checkpoints and bytes has to be the same.
#pragma once

#include "base/text.h"
#include "workbench.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flor::testing {

inline std::string flor_says(const Workbench& bench, const Words& arguments) {
  const ProcessResult result = run_process(Words{FLOR_CLI} + arguments, bench.options());
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

inline std::string size_of(const nlohmann::json& run) {
  return store::print_bytes(run["stored_bytes"].get<std::uint64_t>());
}

/// The run with this key, a rank of its own, as `flor list --json` has it; the others say the same.
inline nlohmann::json listed(const Workbench& bench, const std::string& key) {
  using ::testing::AllOf, ::testing::HasSubstr, ::testing::SizeIs;
  nlohmann::json found;
  const auto list = nlohmann::json::parse(flor_says(bench, {"list", "--ranks", "--json"}));
  for (const auto& run : list["runs"]) {
    if (run["id"].get<std::string>().starts_with(key)) found = run;
  }
  const auto shown = nlohmann::json::parse(flor_says(bench, {"show", key, "--json"}));
  for (const char* fact : {"epochs", "checkpoints", "raw_bytes", "stored_bytes"}) {
    EXPECT_TRUE(found[fact].is_number()) << key;
    EXPECT_EQ(found[fact], shown["run"][fact]) << fact;
  }
  const auto rows = lines_with(
      flor_says(bench, {"list", "--ranks", "--columns", "run,epochs,checkpoints,size"}), {key});
  EXPECT_THAT(rows, ::testing::ElementsAre(
                        AllOf(HasSubstr(fmt::format(" {}  ", found["epochs"].dump())),
                              HasSubstr(fmt::format(" {}  ", found["checkpoints"].dump())),
                              HasSubstr("  " + size_of(found)))));
  EXPECT_THAT(flor_says(bench, {"show", key}), HasSubstr(size_of(found)));
  return found;
}

/// `said`: on stderr by a run of the experiment `test` that ended in order. Its last line has the
/// numbers of `listed`, which is returned.
inline nlohmann::json expect_told_numbers(const Workbench& bench, const std::string& said) {
  const std::string begin = "flor: recorded test as run ";
  const auto lines = lines_with(said, {begin});
  EXPECT_EQ(lines.size(), 1u) << said;
  if (lines.empty()) return {};
  nlohmann::json run = listed(bench, lines.at(0).substr(begin.size(), 8));
  EXPECT_THAT(lines.at(0), ::testing::HasSubstr(
                               fmt::format(": {} epochs, {}", run["epochs"].dump(), size_of(run))));
  return run;
}

}  // namespace flor::testing
