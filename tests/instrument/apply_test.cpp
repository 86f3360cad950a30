// The patch, applied and taken back, as users do it.
#include "inputs.h"
#include "instrument/applied_patch.h"
#include "support/process.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace flor::instrument::testing {
namespace {

namespace fs = std::filesystem;
using flor::testing::GitRepository;
using flor::testing::ProcessResult;
using flor::testing::read_file;
using flor::testing::run_process;
using flor::testing::TemporaryDirectory;
using ::testing::HasSubstr;

class Applied : public ::testing::Test {
 protected:
  ProcessResult flor(std::vector<std::string> words) const {
    words.insert(words.begin(), {FLOR_CLI, "--home", (home_ / "store").string(), "instrument"});
    return run_process(words, {.directory = repository_.root(), .environment = {}});
  }
  std::string text() const { return read_file(repository_.root() / "train.cpp"); }
  void write(const std::string& text) const { repository_.write("train.cpp", text); }

  TemporaryDirectory home_{flor::testing::fast_parent()};
  GitRepository repository_;
};

/// Each input as it is, with CRLF, with tabs, without a newline at its end.
std::vector<std::string> variants(const std::string& text) {
  std::string crlf, tabs;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool two = text.compare(at, 2, "  ") == 0;
    tabs += two ? '\t' : text[at];
    at += two ? 1 : 0;
  }
  return {text, crlf, tabs, text.substr(0, text.find_last_not_of('\n') + 1)};
}

TEST_F(Applied, GitTakesThePatch) {
  for (const auto& file : input_files()) {
    for (const std::string& before : variants(read_file(file))) {
      write(before);
      const ProcessResult patch = flor({"train.cpp"});
      EXPECT_EQ(patch.status, 0) << patch.err;
      EXPECT_EQ(text(), before);
      repository_.write("the.patch", patch.out);
      const auto applied =
          flor::testing::run_command({"git", "apply", "the.patch"}, repository_.root());
      ASSERT_EQ(applied.status, 0) << file << applied.out << patch.out;
      EXPECT_EQ(text(), text_of(before)) << file;
    }
  }
}

TEST_F(Applied, GitTakesThePatchInADirectoryOfTheRepository) {
  repository_.write("src/train.cpp", program({}));
  const fs::path source = repository_.root() / "src";
  const auto patch =
      run_process({FLOR_CLI, "instrument", "train.cpp"}, {.directory = source, .environment = {}});
  repository_.write("src/the.patch", patch.out);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"git", "apply", "the.patch"},
        {"patch", "-p1", "-i", "the.patch"}}) {
    if (words[0] == "patch" && !fs::exists("/usr/bin/patch")) continue;
    repository_.write("src/train.cpp", program({}));
    EXPECT_EQ(flor::testing::run_command(words, source).status, 0) << words[0];
    EXPECT_EQ(read_file(source / "train.cpp"), text_of(program({}))) << words[0];
  }
}

TEST_F(Applied, IsTakenBackByteByByte) {
  for (const auto& file : input_files()) {
    for (const std::string& before : variants(read_file(file))) {
      write(before);
      EXPECT_EQ(flor({"--apply", "train.cpp"}).status, 0);
      EXPECT_EQ(text(), text_of(before));
      const ProcessResult again = flor({"--apply", "train.cpp"});
      EXPECT_EQ(again.status, 0);
      EXPECT_THAT(again.err, HasSubstr("uses Flor already: nothing to do"));
      EXPECT_EQ(text(), text_of(before));
      EXPECT_EQ(flor({"--undo", "train.cpp"}).status, 0);
      EXPECT_EQ(text(), before);
    }
  }
}

TEST_F(Applied, EditsMadeSinceStay) {
  const std::string before = program({.after = "std::puts(\"done\");"});
  write(before);
  ASSERT_EQ(flor({"--apply", "train.cpp"}).status, 0);
  std::string edited = text();
  edited.replace(edited.find("done"), 4, "over");
  write(edited + "// A remark\n");
  ASSERT_EQ(flor({"--undo", "train.cpp"}).status, 0);
  std::string expected = before;
  expected.replace(expected.find("done"), 4, "over");
  EXPECT_EQ(text(), expected + "// A remark\n");
  EXPECT_EQ(flor({"--undo", "train.cpp"}).status, 3);  // once
}

TEST_F(Applied, IsNotTakenBackWhereItCannotBeExact) {
  write(program({}));
  ASSERT_EQ(flor({"--apply", "train.cpp"}).status, 0);
  const std::string after = text();
  std::string edited = after;
  edited.replace(edited.find("\"train\", 10"), 11, "\"train\", 20");
  write(edited);
  ProcessResult undone = flor({"--undo", "train.cpp"});
  EXPECT_EQ(undone.status, 1);
  EXPECT_THAT(undone.err, HasSubstr("was edited since in lines that the patch had changed"));
  EXPECT_EQ(text(), edited);
  edited = after;
  edited.insert(edited.find("      loss.backward"), "      flor::log(\"loss\", loss);\n");
  write(edited);
  undone = flor({"--undo", "train.cpp"});
  EXPECT_EQ(undone.status, 1);
  EXPECT_THAT(undone.err, HasSubstr("uses Flor in a line that was added since"));
  EXPECT_EQ(text(), edited);
}

TEST_F(Applied, AFileThatChangesMeanwhileIsLeftAlone) {
  write("int main() {}\n");
  const fs::path file = repository_.root() / "train.cpp";
  EXPECT_THROW(apply(home_ / "store", file, "int main() { }\n", "other"), Error);
  EXPECT_EQ(text(), "int main() {}\n");
}

TEST_F(Applied, ModeAndLinkOfAFileAreKept) {
  const fs::path real = repository_.root() / "real.cpp", link = repository_.root() / "train.cpp";
  repository_.write("real.cpp", program({}));
  fs::remove(link);
  fs::create_symlink("real.cpp", link);
  ASSERT_EQ(::chmod(real.c_str(), 0640), 0);
  ASSERT_EQ(flor({"--apply", "train.cpp"}).status, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(real).permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(read_file(real), text_of(program({})));
  ASSERT_EQ(flor({"--undo", "real.cpp"}).status, 0);
  EXPECT_EQ(read_file(real), program({}));
}

TEST_F(Applied, QuestionsAreSaidAndLeaveStatusFive) {
  write(program({.top = "int seen = 0;", .step = "++seen;"}));
  const ProcessResult patch = flor({"train.cpp"});
  EXPECT_EQ(patch.status, 5);
  EXPECT_THAT(patch.err, HasSubstr("asks: the loop changes 'seen'"));
  const ProcessResult json = flor({"train.cpp", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"questions\""));
  EXPECT_THAT(json.out, HasSubstr("the loop changes 'seen'"));
}

TEST_F(Applied, ModelsInHeadersAreRead) {
  repository_.write("include/net.h",
                    "#pragma once\n#include <torch/torch.h>\nstruct NetImpl : torch::nn::Module { "
                    "torch::Tensor forward(torch::Tensor x); };\nTORCH_MODULE(Net);\n");
  write(program({.top = "#include \"net.h\"\n", .before = "Net own;", .step = "own->forward(x);"}));
  const ProcessResult patch = flor({"train.cpp"});
  EXPECT_EQ(patch.status, 0) << patch.err;
  EXPECT_THAT(patch.out, HasSubstr("flor::checkpoints(net, optimizer, own)"));
  const ProcessResult none = flor({"none.cpp"});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.err, HasSubstr("none.cpp is not there"));
  EXPECT_EQ(flor({}).status, 2);
  EXPECT_EQ(flor({"--apply", "--undo", "train.cpp"}).status, 2);
}

}  // namespace
}  // namespace flor::instrument::testing
