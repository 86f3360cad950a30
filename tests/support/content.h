// Reads a file as a whole. Tests are compiled without optimization, where an iterator over a stream
// would take a tenth of a second for a megabyte.
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
