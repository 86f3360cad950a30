// Reads the sources of one program, as far as its own #include lines lead to them.
#pragma once

#include "sources/analysis.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::instrument {

/// The text of a file. Throws Error with the remedy if it cannot be read, is too large for a
/// source, or has bytes of value 0.
std::string read_source(const std::filesystem::path& file);

/// The named files, then the headers that they include by "...", and the sources beside those
/// headers or in a folder `src`. Headers are looked for beside the including file, in `include` and
/// `../include` of the first file, and in `directories`. The paths of the result are relative to
/// the current directory where they lie below it.
std::vector<sources::SourceText> read_program(const std::vector<std::string>& files,
                                              const std::vector<std::string>& directories);

}  // namespace flor::instrument
