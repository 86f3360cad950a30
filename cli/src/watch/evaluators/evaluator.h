// An evaluator as the user names it with `flor watch --evaluator SPEC`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct EvaluatorSpec {
  enum class Kind {
    program,  ///< "./program --split test {}"
    native,   ///< "lib.so:symbol"
    python,   ///< "file.py:function" or "package.module.function"
  };
  Kind kind = Kind::program;
  std::filesystem::path file = {};  ///< of the program, library or script; absolute
  std::string function = {};        ///< the symbol in the library, or the Python function
  std::string module = {};          ///< the Python module, if the user named a module instead of a
                                    ///< file
  std::vector<std::string> words =
      {};  ///< words of a program's command line, the program first; "{}" stands for the checkpoint

  /// The form in which it gets checkpoints of Flor's own runs; empty: .safetensors. Another form
  /// makes it another evaluator.
  std::string form = {};
  /// Whether each job runs in a new process. Does not make it another evaluator.
  bool fresh = false;

  /// The specification with absolute paths, so that the same evaluator always has the same text.
  std::string text() const;
  /// The digest of the content of `file`, of the function and words, and of `form`.
  std::string digest() const;
};

/// Parses a specification. Throws UsageError if it is malformed, NotFound if there is no such file.
EvaluatorSpec parse_evaluator(std::string_view spec);

/// Splits a command line at spaces, with quotes and backslashes as in a shell; expands nothing.
/// Throws UsageError if a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

/// Normalizes an evaluator's result to a compact JSON object. NaN and infinities, which Python
/// writes although JSON does not have them, become the texts "NaN", "Infinity" and "-Infinity". A
/// single number becomes {"value": number}. Throws Error for anything else.
std::string result_json(std::string_view text);

/// The result in the output of a program: the whole output if that is JSON, else its last line.
std::string result_of_output(const std::string& output);

}  // namespace flor::cli
