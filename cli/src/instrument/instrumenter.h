// Writes Flor into a training that knows nothing of it: the session, the loops, the state that they
// carry, and the values that they print. What the sources do not decide becomes a question: a
// comment of one line, `// flor: ...?`.
#pragma once

#include "sources/analysis.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flor::instrument {

struct Request {
  /// The sources of one program. Only the first `own` may be changed; the others are headers, and
  /// sources that belong to them.
  std::vector<sources::SourceText> texts;
  std::size_t own = 1;
  std::uint32_t line = 0;  ///< of the main loop, in the first file; 0: find it
  bool log = true;         ///< log what is printed
};

struct ChangedFile {
  std::string path, before, after;
};

struct Question {
  std::string path;
  std::uint32_t line = 0;  ///< in the new text
  std::string text;        ///< with the question mark
};

struct Instrumented {
  std::vector<ChangedFile> files;
  std::vector<Question> questions;
  std::vector<std::string> loops;       ///< `train.cpp:12 epoch`
  std::vector<std::string> registered;  ///< names in flor::checkpoints
  std::vector<std::string> attached;    ///< names in flor::with
  std::vector<std::string> logged;
  std::vector<std::string> remarks;  ///< loops that stay as they are, and why
  std::string already;  ///< `train.cpp:12`: where a file uses Flor; nothing is changed then
};

/// The beginning of a question in a source.
inline constexpr const char* kQuestionMark = "// flor: ";

/// Throws Error, naming the next command, for sources without main or without a loop that trains,
/// and UsageError where several loops may be the main loop.
Instrumented instrument(Request request);

/// The number of the first line that uses Flor; 0 if none does.
std::uint32_t line_with_flor(const std::string& text);

}  // namespace flor::instrument
