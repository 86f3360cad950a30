// A program that another one executes: a script, and the interpreter that runs it. Without one the
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

/// Texts that name variables and places; empty where there are none.
struct CarriedVariables {
  std::string visited;  ///< what visiting the iterations brings back, with nested loops loaded
  std::string lost;     ///< what depends on the steps of nested loops
};

struct HostedProgram {
  std::filesystem::path file;         ///< the script; absolute
  std::filesystem::path interpreter;  ///< as it is started; absolute
  /// A digest of all sources of the program that are loaded, beside its file.
  std::function<std::string()> digest;
  /// Whether the file of that name may be a source of the program.
  std::function<bool(std::string_view path)> is_source;
  /// Compares the recorded sources with those of now, as sources::Analysis does for C++.
  std::function<std::unique_ptr<sources::Concerns>(sources::AnalysisInput)> analyze;
  /// Variables that the main loop of that name leaves to later code, and no checkpoint holds.
  std::function<CarriedVariables(std::string_view loop)> carried;
  /// Writes what the interpreter still holds of the program's output. Any thread.
  std::function<void()> flush;
};

/// The exception that ends a hosted program.
struct HostedFailure {
  std::string why;  ///< one line
  ExitStatus status = ExitStatus::failed;
};
void note_failure(HostedFailure failure);
const HostedFailure* noted_failure();  ///< null: none is known

/// Once per process, before flor::init.
void host_program(HostedProgram program);
const HostedProgram* hosted_program();  ///< null: the executable is the program

/// The file that is the program: the script, or the executable.
std::filesystem::path program_file();
/// The file that is executed to start it again; of a script its interpreter.
std::filesystem::path program_to_start();
bool is_source_of_program(std::string_view path);

/// The text with Flor's functions as the program calls them: "flor.checkpoints" in a script.
std::string in_words_of_program(std::string text);

}  // namespace flor::detail
