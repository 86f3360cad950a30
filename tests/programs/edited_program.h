// A program that a test writes, compiles, records, edits and replays.
#pragma once

#include "workbench.h"

#include <filesystem>
#include <string>

namespace flor::testing {

class EditedProgram : public ::testing::Test {
 protected:
  void write(const std::string& text) {
    bench_.repository().write("src/train.cpp", text);
    bench_.repository().commit_all("a training");
  }
  void build() const {
    const std::string command = std::string("exec ") + FLOR_TEST_COMPILER + " " +
                                source().string() + " -o " + executable().string() + " " +
                                FLOR_TEST_LIBRARY + " -Wl,-rpath," FLOR_TEST_LIBRARY_DIRECTORY;
    const CommandResult result = run_command({"sh", "-c", command}, root());
    ASSERT_EQ(result.status, 0) << result.out;
  }
  ProcessResult run(const Words& arguments) const {
    return run_process(Words{executable().string()} + arguments, bench_.options());
  }
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  void record(const std::string& text, const Words& flags = {"--flor_every", "1"}) {
    write(text);
    build();
    const auto recorded = run(Words{"--flor", "test"} + flags);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }
  void edit(const std::string& from, const std::string& to) const {
    std::string text = read_file(source());
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(source(), text.replace(at, from.size(), to));
    build();
  }

  const std::filesystem::path& root() const { return bench_.repository().root(); }
  std::filesystem::path source() const { return root() / "src/train.cpp"; }
  std::filesystem::path executable() const { return bench_.repository().place() / "program"; }

  Workbench bench_;
};

}  // namespace flor::testing
