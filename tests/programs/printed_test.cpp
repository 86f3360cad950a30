// Printed output is handed on unchanged, whatever becomes of them, and kept with its place.
#include "support/terminal.h"
#include "workbench.h"

#include <nlohmann/json.hpp>

#include <string>

namespace flor::testing::printed_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// The output of a plain run of `epochs` epochs, until the end of the epoch `last`.
std::string expected_out(int last, bool has_end) {
  std::string text = "before flor::init\nbegins on no terminal\n";
  double state = 1;
  for (int epoch = 0; epoch <= last; ++epoch) {
    for (int step = 0; step < 2; ++step) {
      char line[64];
      state = 0.5 * state + step;
      std::snprintf(line, sizeof line, "step %d of %d: loss=%.3f\n", step, epoch, state);
      text += line;
    }
    text += "epoch " + std::to_string(epoch) + " took " + std::to_string(epoch + 1) + " s\n";
  }
  return has_end ? text + "after the loops\n" : text;
}

class PrintedByPrograms : public ::testing::Test {
 protected:
  PrintedByPrograms() { ::setenv("FLOR_OUTPUT", "16", 1); }
  ~PrintedByPrograms() override { ::unsetenv("FLOR_OUTPUT"); }

  ProcessResult print(const std::string& scenario, const Words& more = {}) const {
    return bench_.run("printer",
                      Words{"--flor", "test", "--kwargs", "scenario=" + scenario} + more);
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  /// The lines that are kept, each as "EPOCH LOOP STREAM TEXT".
  std::vector<std::string> kept(const std::string& what = "test", const Words& more = {}) const {
    const ProcessResult shown = flor(Words{"show", what, "--printed", "--json"} + more);
    EXPECT_EQ(shown.status, 0) << shown.err;
    std::vector<std::string> lines;
    const auto document = nlohmann::json::parse(shown.out);
    for (const auto& line : document["printed"]) {
      lines.push_back((line["epoch"].is_null() ? "-" : line["epoch"].dump()) + " " +
                      (line["loop"].is_null() ? "-" : line["loop"].get<std::string>()) + " " +
                      line["stream"].get<std::string>() + " " + line["text"].get<std::string>());
    }
    return lines;
  }
  std::vector<std::string> kept_of(const std::string& stream) const {
    std::vector<std::string> lines;
    for (std::string& line : kept()) {
      if (line.find(" " + stream + " ") != line.npos) lines.push_back(std::move(line));
    }
    return lines;
  }
  /// Waits for the process that hands on, which outlives a program that was killed.
  static std::string all_of(const Process& process, const std::string& end) {
    EXPECT_TRUE(process.await([&] {
      return process.out().ends_with(end) || process.err().ends_with(end);
    })) << process.out();
    return process.out();
  }

  Workbench bench_;
};

TEST_F(PrintedByPrograms, IsHandedOnAndKeptWithItsPlace) {
  const ProcessResult result = print("plain");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, expected_out(3, true));
  EXPECT_THAT(result.err, HasSubstr("a warning of epoch 3\n"));
  const auto out = kept_of("stdout");
  ASSERT_THAT(out, SizeIs(2 + 4 * 3)) << ::testing::PrintToString(kept());
  EXPECT_EQ(out.front(), "- - stdout begins on no terminal");
  EXPECT_EQ(out.back(), "- - stdout after the loops");
  EXPECT_EQ(out[1], "0 epoch/train stdout step 0 of 0: loss=0.500");
  EXPECT_EQ(out[3], "0 epoch stdout epoch 0 took 1 s");
  EXPECT_EQ(out[12], "3 epoch stdout epoch 3 took 4 s");
  EXPECT_THAT(kept("test@2", {"--grep", "warn"}),
              ElementsAre("2 epoch stderr a warning of epoch 2"));
  const ProcessResult epoch = flor({"show", "test@1"});
  EXPECT_THAT(epoch.out, AllOf(HasSubstr("printed\n"), HasSubstr("  epoch 1 took 2 s\n"),
                               Not(HasSubstr("epoch 2"))));
}

TEST_F(PrintedByPrograms, IsNeitherAMetricNorComparedByAReplay) {
  ASSERT_EQ(print("plain", {"--flor_every", "1"}).status, 0);
  EXPECT_THAT(flor({"show", "test"}).out, Not(HasSubstr("flor:output")));
  EXPECT_THAT(flor({"query", "--run", "test", "--json"}).out, Not(HasSubstr("flor:output")));
  const ProcessResult replay = bench_.replay("printer");
  EXPECT_EQ(replay.status, 0) << replay.err;
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(PrintedByPrograms, OfAnAbortComesToTheUserAndIntoTheRun) {
  Process process(
      Words{program("printer").string(), "--flor", "test", "--kwargs", "scenario=abort"},
      bench_.options());
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.signal, SIGABRT);
  all_of(process, "the last words");
  EXPECT_THAT(kept_of("stderr").back(), EndsWith("epoch stderr the last words"));
}

TEST_F(PrintedByPrograms, OfAKilledProgramComesToTheUserAndIntoTheRun) {
  Process process(Words{program("printer").string(), "--flor", "test", "--kwargs", "scenario=kill"},
                  bench_.options());
  EXPECT_EQ(process.wait().signal, SIGKILL);
  EXPECT_EQ(all_of(process, "the last words"), expected_out(2, false) + "the last words");
  // The file appears when the pipes are empty.
  const auto rest = [&] {
    const auto key = bench_.last_run().key;
    return bench_.home() / "runs" / key.substr(0, 2) / key / "output";
  }();
  ASSERT_TRUE(process.await([&] { return std::filesystem::exists(rest); }));
  EXPECT_EQ(kept_of("stdout").back(), "2 epoch stdout the last words");
  const std::size_t before = kept().size();
  // The resume takes it up; what comes after the point at which it goes on is printed again.
  const auto resumed =
      bench_.run("printer", {"--flor", "test", "--flor_resume", "--kwargs", "scenario=kill"});
  EXPECT_EQ(resumed.signal, SIGKILL) << resumed.err;
  EXPECT_GE(kept().size(), before);
}

TEST_F(PrintedByPrograms, OfChildrenIsKeptToo) {
  const ProcessResult result = print("child");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("of a child\n"));
  EXPECT_THAT(result.err, HasSubstr("of its errors\n"));
  EXPECT_THAT(kept("test@2"), ::testing::Contains("2 epoch stdout of a child"));
}

TEST_F(PrintedByPrograms, AnyBytesAreHandedOnUnchanged) {
  const ProcessResult result = print("bytes");
  ASSERT_EQ(result.status, 0) << result.err;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_THAT(result.out, HasSubstr(all + "\n"));
  EXPECT_EQ(flor({"show", "test", "--printed"}).status, 0);
  EXPECT_THAT(flor({"show", "test", "--printed"}).out, HasSubstr("\\x01\\x02"));
}

TEST_F(PrintedByPrograms, LinesOfAnyLengthAreWhole) {
  const ProcessResult result = print("long");
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string line(3 << 20, 'x');
  EXPECT_THAT(result.out.find(line + "\n"), Not(result.out.npos));
  EXPECT_THAT(flor({"show", "test@2", "--printed"}).out.find(line + "\n"), Not(std::string::npos));
}

/// Prints `mib` MiB, of which two are kept.
void expect_bound(const Workbench& bench, int mib) {
  const ProcessResult result =
      bench.run("printer", {"--flor", "test", "--flor_output", "2", "--kwargs", "scenario=much",
                            "mib=" + std::to_string(mib)});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_GE(result.out.size() >> 20, static_cast<std::size_t>(mib));
  std::uint64_t stored = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(bench.home() / "runs")) {
    if (entry.is_regular_file()) stored += entry.file_size();
  }
  EXPECT_LT(stored, std::uint64_t{3} << 20);
  const ProcessResult shown = run_process({FLOR_CLI, "show", "test", "--printed"}, bench.options());
  EXPECT_LT(shown.out.size(), std::size_t{3} << 20);
  EXPECT_GT(shown.out.size(), std::size_t{3} << 19);
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("begins on no terminal\n"),
                    HasSubstr("MiB of output are not kept here"), HasSubstr("after the loops\n")));
}

TEST_F(PrintedByPrograms, OfWhatIsTooMuchTheBeginningAndTheEndAreKeptAndTheGapIsSaid) {
  expect_bound(bench_, 40);
}
TEST(PrintedByProgramsSlow, OfTenGigabytesTheBeginningAndTheEndAreKept) {
  expect_bound(Workbench(), 10'000);
}

TEST_F(PrintedByPrograms, AProgramThatPrintsElsewhereIsNotDisturbed) {
  const ProcessResult away = print("away");
  ASSERT_EQ(away.status, 0) << away.err;
  EXPECT_EQ(away.out, expected_out(2, false));
  EXPECT_THAT(read_file(bench_.repository() / "elsewhere.txt"),
              AllOf(HasSubstr("epoch 3 took 4 s\n"), EndsWith("after the loops\n")));
  EXPECT_EQ(print("closed").status, 0);
}

TEST_F(PrintedByPrograms, AProgramWhoseReaderHasGoneIsToldSo) {
  const std::string command = program("printer").string() +
                              " --flor test --kwargs scenario=much mib=100 | head -1; "
                              "exit ${PIPESTATUS[0]}";
  const ProcessResult result = run_process({"/bin/bash", "-c", command}, bench_.options());
  EXPECT_EQ(result.status, 128 + SIGPIPE) << result.err;
  EXPECT_EQ(result.out, "before flor::init\n");
}

TEST_F(PrintedByPrograms, NothingIsKeptWithoutWish) {
  ASSERT_EQ(print("plain", {"--flor_output", "none"}).status, 0);
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_THAT(print("plain", {"--flor_output", "0"}).err,
              HasSubstr("--flor_output 0: expected a whole number of at least 1"));
}

TEST_F(PrintedByPrograms, ATerminalStaysOne) {
  if (!has_terminals()) GTEST_SKIP() << "no pseudo terminals here";
  TerminalOptions options;
  options.directory = bench_.repository().root();
  options.environment["FLOR_HOME"] = bench_.home().string();
  options.environment["HOME"] = bench_.home().string();
  Terminal terminal({program("printer").string(), "--flor", "test", "--flor_output", "16"}, options);
  EXPECT_TRUE(terminal.shows("begins on a terminal"));
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.drawn(), HasSubstr("after the loops\r\n"));
  // Both streams go to one place: their order is kept.
  const auto lines = kept("test@1");
  EXPECT_THAT(
      lines, ElementsAre("1 epoch/train output step 0 of 1: loss=0.625",
                         "1 epoch/train output step 1 of 1: loss=1.312",
                         "1 epoch output epoch 1 took 2 s", "1 epoch output a warning of epoch 1"));
}

TEST_F(PrintedByPrograms, NumbersBecomeAMetricOnce) {
  ASSERT_EQ(print("plain").status, 0);
  const ProcessResult first = flor({"extract", "test", "loss=(\\d+\\.\\d+)"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("8 values of loss, verified"));
  const auto values = bench_.values("loss", false);
  ASSERT_THAT(values, SizeIs(8));
  EXPECT_EQ(values[2].place.epoch, 1);
  EXPECT_EQ(values[2].place.path, "epoch/train");
  EXPECT_EQ(values[3].ordinal, 1);
  EXPECT_EQ(std::get<double>(values[2].value), 0.625);
  EXPECT_EQ(values[2].verdict, store::ValueVerdict::verified);
  const std::size_t replays = bench_.replays().size();
  EXPECT_THAT(flor({"extract", "test", "loss=(\\d+\\.\\d+)"}).out, HasSubstr("known already"));
  EXPECT_EQ(bench_.replays().size(), replays);
  EXPECT_THAT(flor({"query", "loss", "--run", "test", "--json"}).out, HasSubstr("0.625"));
  EXPECT_THAT(flor({"extract", "test", "took (\\d+) s"}).out, HasSubstr("4 values of took"));
  EXPECT_EQ(flor({"extract", "test", "loss=\\d"}).status, 2);
  EXPECT_EQ(flor({"extract", "test", "epoch (\\w+ )"}).status, 2);
  EXPECT_EQ(flor({"extract", "test", "no such (\\d)"}).status, 3);
}

}  // namespace
}  // namespace flor::testing::printed_test
