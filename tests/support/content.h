// The content of a file, read as a whole: tests are compiled without optimization, where an
// iterator over a stream takes a tenth of a second a megabyte.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace flor::testing {

inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace flor::testing
