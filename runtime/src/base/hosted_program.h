// A program that another program executes: a script and its interpreter. If none is registered, the
// program is the executable of this process.
#pragma once

#include "sources/concerns.h"

#include <flor/store/error.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace flor::sources {
struct AnalysisInput;
}

namespace flor::detail {

/// Texts that name variables and places; empty if there are none.
struct CarriedVariables {
  /// Variables that have their right values again after a replay has visited the iterations and
  /// loaded their nested loops.
  std::string visited;
  std::string lost;     ///< variables that depend on the steps of nested loops
};

/// The facts that the interpreter's module tells the core about a script.
struct HostedProgram {
  std::filesystem::path file;         ///< the script; absolute path
  std::filesystem::path interpreter;  ///< the interpreter's executable; absolute path
  /// A digest of all loaded source files of the program besides its main file.
  std::function<std::string()> digest;
  /// Whether the file with that name may be a source of the program.
  std::function<bool(std::string_view path)> is_source;
  /// Compares the recorded sources with the present ones, as sources::Analysis does for C++.
  std::function<std::unique_ptr<sources::Concerns>(sources::AnalysisInput)> analyze;
  /// Variables that the main loop with that name leaves to later code, and that no checkpoint
  /// holds.
  std::function<CarriedVariables(std::string_view loop)> carried;
  /// Writes out what the interpreter still buffers of the program's output. Any thread may call it.
  std::function<void()> flush;
};

/// The exception that ends a hosted program.
struct HostedFailure {
  std::string why;  ///< one line
  ExitStatus status = ExitStatus::failed;
};
void note_failure(HostedFailure failure);
const HostedFailure* noted_failure();  ///< null: none was noted

/// To be called once per process, before flor::init.
void host_program(HostedProgram program);
const HostedProgram* hosted_program();  ///< null: the executable is the program

/// The file of the program: the script, or the executable.
std::filesystem::path program_file();
/// The file to execute in order to start the program again: the script's interpreter, or the
/// executable.
std::filesystem::path program_to_start();
bool is_source_of_program(std::string_view path);

/// The text with Flor's functions spelled as in the program's language: "flor.checkpoints" in a
/// script.
std::string in_words_of_program(std::string text);

}  // namespace flor::detail
