// Files with logs of other programs: found, told apart, and read.
#pragma once

#include "imports/logged_run.h"
#include "imports/text_reader.h"

#include <flor/store/digest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

enum class LogFormat { safetensors, text, csv, jsonl, tensorboard };
std::string_view to_string(LogFormat format);
/// Throws UsageError for another word.
LogFormat parse_log_format(std::string_view word);

/// The files of one run.
struct LogSource {
  std::filesystem::path path;                ///< a file, or the directory of its event files
  std::vector<std::filesystem::path> files;  ///< in the order in which they were written
  LogFormat format = LogFormat::text;
};

/// The sources that the words of a user name, in their order. Event files of one directory are one
/// run, as TensorBoard has it; a directory stands for all that have event files, down to the last.
/// Without a format it is the one of the file's ending, else of its first bytes, else text. Throws
/// NotFound for a file that is not there, UsageError for what is no file and a directory without
/// event files.
std::vector<LogSource> find_logs(std::span<const std::string> operands,
                                 std::optional<LogFormat> format);

/// The question to the logs. `epoch` and `step` are columns of tables, and regular expressions for
/// texts.
using LogQuestion = TextQuestion;

/// Reads a log. UsageErrors name the file.
LoggedRun read_log(const LogSource& source, const LogQuestion& question);

/// The digest of the content of all files, one after the other.
store::Digest digest_of_log(const LogSource& source);

/// When the files were last changed, in Unix microseconds.
std::int64_t time_of_change(const LogSource& source);

}  // namespace flor::cli
