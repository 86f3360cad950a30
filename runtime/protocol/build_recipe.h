// How a program was built: the CMake function flor_instrument() compiles this recipe into the
// program, a recording keeps it, and `flor build` follows it. Shared by the runtime and the command
// line tool.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// A variable of CMake's cache, as it was when the program was configured.
struct CacheVariable {
  std::string name;
  std::string type;  ///< BOOL, STRING, PATH or FILEPATH
  std::string value;
  bool operator==(const CacheVariable&) const = default;
};

/// How one program was built. All directories are absolute paths on the machine that built it.
struct BuildRecipe {
  std::string target;
  std::string source_directory;  ///< of the top-level CMakeLists.txt
  std::string build_directory;
  std::string program;        ///< path of the executable
  std::string generator;      ///< e.g. "Ninja"
  std::string configuration;  ///< e.g. "Release"; may be empty
  std::string compiler;       ///< e.g. "GNU 12.2.0"; informative
  /// The compiler's flags, including those of the configuration; informative.
  std::string flags;
  /// Digest of the target's sources as they were built; empty if it is not known.
  std::string sources;
  std::vector<CacheVariable> cache;
  std::map<std::string, std::string> environment;  ///< in which CMake was configured
  bool operator==(const BuildRecipe&) const = default;

  /// The recipe as one line of JSON; docs/internals/format.md describes its fields.
  std::string encode() const;
  /// Throws Error if the text is no recipe. Ignores unknown fields.
  static BuildRecipe decode(std::string_view json);
};

}  // namespace flor::detail
