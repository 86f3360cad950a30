// What programs print comes to its destination unchanged, whatever becomes of them, and is kept
// with its place: to files always, to pipes and terminals on request.
#include "support/terminal.h"
#include "workbench.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
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

/// Standard output is a file, or a pipe to a `cat`.
class PrintedBase : public ::testing::Test {
 protected:
  explicit PrintedBase(bool piped = false) : piped_(piped) {
    if (piped) ::setenv("FLOR_OUTPUT", "16", 1);
  }
  ~PrintedBase() override { ::unsetenv("FLOR_OUTPUT"); }

  /// The command line, with its status that of the program; 128 + N if a signal N ended it.
  Words printer(const std::string& scenario, const Words& more = {}) const {
    const Words words =
        Words{program("printer").string(), "--flor", "test", "--kwargs", "scenario=" + scenario} +
        more;
    if (!piped_) return words;
    return Words{"/bin/bash", "-c", "\"$@\" | cat; exit ${PIPESTATUS[0]}", "bash"} + words;
  }
  ProcessResult print(const std::string& scenario, const Words& more = {}) const {
    return run_process(printer(scenario, more), bench_.options());
  }
  /// Ends as `print` would, with `printer`'s output in the file `out`.
  ProcessResult print_to(const std::filesystem::path& out, const Words& words) const {
    ProcessOptions options = bench_.options();
    options.out = out;
    return run_process(words, options);
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
  /// The file in the home with what the run's journal lacks.
  std::filesystem::path rest() const {
    const auto key = bench_.last_run().key;
    return bench_.home() / "runs" / key.substr(0, 2) / key / "output";
  }

  Workbench bench_;
  bool piped_;
};

class PrintedByPrograms : public PrintedBase, public ::testing::WithParamInterface<bool> {
 protected:
  PrintedByPrograms() : PrintedBase(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(To, PrintedByPrograms, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Pipes" : "Files"; });

class PrintedToFiles : public PrintedBase {};

class PrintedToPipes : public PrintedBase {
 protected:
  PrintedToPipes() : PrintedBase(true) {}
  /// Waits for the process that hands on, which outlives a program that was killed.
  static std::string all_of(const Process& process, const std::string& end) {
    EXPECT_TRUE(process.await([&] {
      return process.out().ends_with(end) || process.err().ends_with(end);
    })) << process.out();
    return process.out();
  }
};

TEST_P(PrintedByPrograms, IsHandedOnAndKeptWithItsPlace) {
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

TEST_F(PrintedToFiles, IsNeitherAMetricNorComparedByAReplay) {
  ASSERT_EQ(print("plain", {"--flor_every", "1"}).status, 0);
  EXPECT_THAT(flor({"show", "test"}).out, Not(HasSubstr("flor:output")));
  EXPECT_THAT(flor({"query", "--run", "test", "--json"}).out, Not(HasSubstr("flor:output")));
  const ProcessResult replay = bench_.replay("printer");
  EXPECT_EQ(replay.status, 0) << replay.err;
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(PrintedToPipes, OfAnAbortComesToTheUserAndIntoTheRun) {
  Process process(printer("abort"), bench_.options());
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 128 + SIGABRT);
  EXPECT_THAT(kept_of("stderr").back(), EndsWith("epoch stderr the last words"));
}

TEST_F(PrintedToPipes, OfAKilledProgramComesToTheUserAndIntoTheRun) {
  Process process(printer("kill"), bench_.options());
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  EXPECT_EQ(all_of(process, "the last words"), expected_out(2, false) + "the last words");
  // The file appears when the pipes are empty.
  ASSERT_TRUE(process.await([&] { return std::filesystem::exists(rest()); }));
  EXPECT_EQ(kept_of("stdout").back(), "2 epoch stdout the last words");
  const std::size_t before = kept().size();
  // The resume takes it up; what comes after the point at which it goes on is printed again.
  EXPECT_EQ(print("kill", {"--flor_resume"}).status, 128 + SIGKILL);
  EXPECT_GE(kept().size(), before);
}

/// Nothing stands between, so all is there at once.
TEST_F(PrintedToFiles, OfADeadProgramIsInTheFileAtOnceAndInTheRun) {
  for (const std::string scenario : {"exit", "kill"}) {
    const auto out = bench_.repository().root() / (scenario + ".txt");
    const ProcessResult result = print_to(out, printer(scenario));
    EXPECT_EQ(result.status, scenario == "exit" ? 5 : -1);
    EXPECT_EQ(result.out, expected_out(2, false) + "the last words");
    ASSERT_TRUE(std::filesystem::exists(rest()));
    const auto lines = kept_of("stdout");
    ASSERT_THAT(lines, SizeIs(1 + 3 * 3 + 1)) << ::testing::PrintToString(kept());
    EXPECT_THAT(lines.front(), EndsWith("begins on no terminal"));
    EXPECT_THAT(lines.back(), EndsWith("the last words"));
  }
}

TEST_F(PrintedToFiles, OfADeadProgramIsTakenUpByItsResume) {
  const auto root = bench_.repository().root();
  EXPECT_EQ(print_to(root / "first.txt", printer("kill")).signal, SIGKILL);
  // It is killed again, and has text of its own that no journal has.
  EXPECT_EQ(print_to(root / "second.txt", printer("kill", {"--flor_resume"})).signal, SIGKILL);
  std::filesystem::remove(root / "first.txt");
  EXPECT_THAT(kept_of("stdout"),
              ::testing::Contains(HasSubstr("the last words")).Times(::testing::Ge(2)));
}

/// A file that was written later has other text, of which nothing is taken for the run's.
TEST_F(PrintedToFiles, OfADeadProgramIsNotSoughtInAnotherText) {
  const auto out = bench_.repository().root() / "out.txt";
  EXPECT_EQ(print_to(out, printer("kill")).signal, SIGKILL);
  const auto later = std::filesystem::last_write_time(out) + std::chrono::hours(1);
  std::filesystem::last_write_time(out, later);
  EXPECT_THAT(kept_of("stdout"), IsEmpty());
}

TEST_F(PrintedToFiles, LeavesNoProcessThatHasTheProgramOpen) {
  const auto copy = bench_.repository().root() / "copy";
  std::filesystem::copy_file(program("printer"), copy);
  Words words = printer("exit");
  words[0] = copy.string();
  EXPECT_EQ(run_process(words, bench_.options()).status, 5);
  const int file = ::open(copy.c_str(), O_WRONLY);
  EXPECT_GE(file, 0) << std::strerror(errno);
  ::close(file);
}

TEST_F(PrintedToFiles, OfAFileThatTheProgramCutsTheRestIsKept) {
  const ProcessResult result = print("cut");
  ASSERT_EQ(result.status, 0) << result.err;
  const auto lines = kept();
  EXPECT_THAT(lines, ::testing::Contains("3 epoch stdout epoch 3 took 4 s"));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr(" gap [")));
  EXPECT_THAT(lines, Not(::testing::Contains(HasSubstr("epoch 1 took"))));
}

/// With more text in the file than its own, a metric could be made of another program's numbers.
TEST_F(PrintedToFiles, IsNotKeptWhereAnotherProgramPrintsToTheFileToo) {
  const auto out = bench_.repository().root() / "out.txt";
  const std::string beside = "sleep 1000 & \"$@\"; status=$?; kill $!; exit $status";
  const ProcessResult result =
      print_to(out, Words{"/bin/bash", "-c", beside, "bash"} + printer("plain"));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, expected_out(3, true));
  EXPECT_THAT(kept_of("stdout"), IsEmpty());
  EXPECT_THAT(kept_of("gap"), Not(IsEmpty()));
}
TEST_F(PrintedToFiles, IsKeptBesideTheWordsOfTheScriptThatStartsIt) {
  const auto out = bench_.repository().root() / "out.txt";
  const ProcessResult result = print_to(
      out, Words{"/bin/bash", "-c", "echo begin; \"$@\"; echo end", "bash"} + printer("plain"));
  EXPECT_EQ(result.out, "begin\n" + expected_out(3, true) + "end\n");
  EXPECT_THAT(kept_of("stdout"), SizeIs(2 + 4 * 3));
}

TEST_P(PrintedByPrograms, OfChildrenIsKeptToo) {
  const ProcessResult result = print("child");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("of a child\n"));
  EXPECT_THAT(result.err, HasSubstr("of its errors\n"));
  EXPECT_THAT(kept("test@2"), ::testing::Contains("2 epoch stdout of a child"));
}

TEST_P(PrintedByPrograms, AnyBytesAreHandedOnUnchanged) {
  const ProcessResult result = print("bytes");
  ASSERT_EQ(result.status, 0) << result.err;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_THAT(result.out, HasSubstr(all + "\n"));
  EXPECT_EQ(flor({"show", "test", "--printed"}).status, 0);
  EXPECT_THAT(flor({"show", "test", "--printed"}).out, HasSubstr("\\x01\\x02"));
}

TEST_P(PrintedByPrograms, LinesOfAnyLengthAreWhole) {
  const ProcessResult result = print("long");
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string line(3 << 20, 'x');
  EXPECT_THAT(result.out.find(line + "\n"), Not(result.out.npos));
  EXPECT_THAT(flor({"show", "test@2", "--printed"}).out.find(line + "\n"), Not(std::string::npos));
}

/// Prints `mib` MiB, of which two are kept.
void expect_bound(const Workbench& bench, int mib, bool piped) {
  const Words words{program("printer").string(),
                    "--flor",
                    "test",
                    "--flor_output",
                    "2",
                    "--kwargs",
                    "scenario=much",
                    "mib=" + std::to_string(mib)};
  const Words counted{"/bin/bash", "-c", "\"$@\" | wc -c; exit ${PIPESTATUS[0]}", "bash"};
  const ProcessResult result = run_process(piped ? counted + words : words, bench.options());
  ASSERT_EQ(result.status, 0) << result.err;
  const std::size_t bytes = piped ? std::stoull(result.out) : result.out.size();
  EXPECT_GE(bytes >> 20, static_cast<std::size_t>(mib));
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

TEST_P(PrintedByPrograms, OfWhatIsTooMuchTheBeginningAndTheEndAreKeptAndTheGapIsSaid) {
  expect_bound(bench_, 40, piped_);
}
TEST(PrintedByProgramsSlow, OfTenGigabytesTheBeginningAndTheEndAreKept) {
  expect_bound(Workbench(), 10'000, false);
  expect_bound(Workbench(), 10'000, true);
}

TEST_P(PrintedByPrograms, AProgramThatPrintsElsewhereIsNotDisturbed) {
  const ProcessResult away = print("away");
  ASSERT_EQ(away.status, 0) << away.err;
  EXPECT_EQ(away.out, expected_out(2, false));
  EXPECT_THAT(read_file(bench_.repository() / "elsewhere.txt"),
              AllOf(HasSubstr("epoch 3 took 4 s\n"), EndsWith("after the loops\n")));
  EXPECT_EQ(print("closed").status, 0);
}

TEST_F(PrintedToPipes, AProgramWhoseReaderHasGoneIsToldSo) {
  const std::string command = program("printer").string() +
                              " --flor test --kwargs scenario=much mib=100 | head -1; "
                              "exit ${PIPESTATUS[0]}";
  const ProcessResult result = run_process({"/bin/bash", "-c", command}, bench_.options());
  EXPECT_EQ(result.status, 128 + SIGPIPE) << result.err;
  EXPECT_EQ(result.out, "before flor::init\n");
}

TEST_F(PrintedToPipes, NothingIsKeptWithoutWish) {
  ::unsetenv("FLOR_OUTPUT");
  ProcessOptions options = bench_.options();
  Words words = printer("plain");
  words[2] = "\"$@\" 2>&1 | cat; exit ${PIPESTATUS[0]}";
  ASSERT_EQ(run_process(words, options).status, 0);
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(PrintedToFiles, NothingIsKeptAgainstTheWish) {
  ASSERT_EQ(print("plain", {"--flor_output", "none"}).status, 0);
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_THAT(print("plain", {"--flor_output", "0"}).err,
              HasSubstr("--flor_output 0: expected a whole number of at least 1"));
}

TEST_F(PrintedToPipes, ATerminalStaysOne) {
  if (!has_terminals()) GTEST_SKIP() << "no pseudo terminals here";
  TerminalOptions options;
  options.directory = bench_.repository().root();
  options.environment["FLOR_HOME"] = bench_.home().string();
  options.environment["HOME"] = bench_.home().string();
  const Words words{program("printer").string(), "--flor", "test"};
  for (const Words& more : {Words{}, Words{"--flor_output", "16"}}) {
    Terminal terminal(words + more, options);
    EXPECT_TRUE(terminal.shows("begins on a terminal"));
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_THAT(terminal.drawn(), HasSubstr("after the loops\r\n"));
    if (more.empty()) {
      EXPECT_THAT(kept(), IsEmpty());
    }
  }
  // Both streams go to one place: their order is kept.
  EXPECT_THAT(kept("test@1"), ElementsAre("1 epoch/train output step 0 of 1: loss=0.625",
                                          "1 epoch/train output step 1 of 1: loss=1.312",
                                          "1 epoch output epoch 1 took 2 s",
                                          "1 epoch output a warning of epoch 1"));
}

TEST_P(PrintedByPrograms, NumbersBecomeAMetricOnce) {
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
