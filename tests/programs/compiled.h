// Programs that a test writes, compiles and runs: what a user's own sources would do.
#pragma once

#include "workbench.h"

namespace flor::testing {

class CompiledPrograms : public ::testing::Test {
 protected:
  /// Compiles a file of the repository to a program outside of it; `flags` for the compiler.
  CommandResult compile(const std::string& source, const std::string& program,
                        const std::string& flags = "") const {
    const std::string command = std::string("exec ") + FLOR_TEST_COMPILER + " " + flags + " " +
                                (root() / source).string() + " -o " + path_of(program) + " " +
                                FLOR_TEST_LIBRARY + " -Wl,-rpath," FLOR_TEST_LIBRARY_DIRECTORY;
    return run_command({"sh", "-c", command}, root());
  }
  /// Writes and compiles src/PROGRAM.cpp.
  void build(const std::string& program, const std::string& text,
             const std::string& flags = "") const {
    bench_.repository().write("src/" + program + ".cpp", text);
    const CommandResult result = compile("src/" + program + ".cpp", program, flags);
    ASSERT_EQ(result.status, 0) << result.out;
  }
  ProcessResult run(const std::string& program, const Words& arguments) const {
    return run(program, arguments, bench_.options());
  }
  ProcessResult run(const std::string& program, const Words& arguments,
                    ProcessOptions options) const {
    return run_process(Words{path_of(program)} + arguments, std::move(options));
  }
  std::string path_of(const std::string& program) const {
    return (bench_.repository().place() / program).string();
  }
  const std::filesystem::path& root() const { return bench_.repository().root(); }

  Workbench bench_;
};

}  // namespace flor::testing
