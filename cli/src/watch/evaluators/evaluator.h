// An evaluator as the user names it: SPEC of `flor watch --evaluator SPEC`.
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
  std::filesystem::path file = {};  ///< program, library or script, absolute
  std::string function = {};        ///< symbol or function
  std::string module = {};          ///< of Python, if it was named instead of the file
  std::vector<std::string> words =
      {};  ///< of a program, itself first; "{}" stands for the checkpoint

  /// The form in which it gets Flor's own checkpoints, if not .safetensors: makes another
  /// evaluator.
  std::string form = {};
  /// Each job runs in a process of its own; the same evaluator otherwise.
  bool fresh = false;

  /// With absolute paths: the same for the same evaluator, wherever it is named.
  std::string text() const;
  /// Digest of the content of `file`, of the function and words, and of `form`.
  std::string digest() const;
};

/// Throws UsageError if the form is wrong, NotFound if there is no such file.
EvaluatorSpec parse_evaluator(std::string_view spec);

/// Splits words as a shell would at spaces, quotes and backslashes; nothing is expanded. Throws
/// UsageError if a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

/// The JSON object that an evaluator returned, as compact JSON. NaN and infinities, which JSON does
/// not know but Python writes, become the texts "NaN", "Infinity" and "-Infinity". A single number
/// becomes {"value": number}. Throws Error for anything else.
std::string result_json(std::string_view text);

/// The result in the output of a program: all of it, or else its last line, if that is JSON.
std::string result_of_output(const std::string& output);

}  // namespace flor::cli
