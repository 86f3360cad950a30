// A file that a command writes, whole or not at all.
#pragma once

#include "output/stream.h"

#include <filesystem>
#include <string_view>

namespace flor::cli {

/// Written beside its place and renamed by `finish`; without that nothing is left of it, and what
/// was there before stays. What is no regular file (a pipe, /dev/stdout) is written directly.
/// Throws Error where it cannot be written, with the file's name. Not thread-safe.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Output& out() { return out_; }
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_, temporary_;  // temporary_ is empty where path_ is written directly
  int descriptor_;
  Output out_;
};

/// All of it at once.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace flor::cli
