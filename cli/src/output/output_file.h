// Writes an output file of a command as a whole or not at all.
#pragma once

#include "output/stream.h"

#include <filesystem>
#include <string_view>

namespace flor::cli {

/// A file written under a temporary name beside `path`, which `finish` renames to `path`. Without
/// `finish` the destructor removes it, and an older file stays. A path that is no regular file (a
/// pipe, /dev/stdout) is written directly. Throws Error, with the file's name, if it cannot be
/// written. Not thread-safe.
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

  std::filesystem::path path_, temporary_;  // temporary_ is empty if path_ is written directly
  int descriptor_;
  Output out_;
};

/// Writes a file with this content, as an OutputFile.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace flor::cli
