// How a program is built: flor_instrument() of CMake compiles this into it, a recording keeps it,
// and `flor build` follows it. Shared by the runtime and the command line tool.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// A variable of CMake's cache as it was when the program was configured.
struct CacheVariable {
  std::string name;
  std::string type;  ///< BOOL, STRING, PATH or FILEPATH
  std::string value;
  bool operator==(const CacheVariable&) const = default;
};

/// All directories are absolute, as they were where the program was built.
struct BuildRecipe {
  std::string target;
  std::string source_directory;  ///< that of the topmost CMakeLists.txt
  std::string build_directory;
  std::string program;        ///< the executable
  std::string generator;      ///< "Ninja"
  std::string configuration;  ///< "Release"; may be empty
  std::string compiler;       ///< "GNU 12.2.0"; informative
  std::string flags;          ///< the compiler's, those of the configuration included; informative
  /// Digest of the target's sources as they were built; empty where that is not known.
  std::string sources;
  std::vector<CacheVariable> cache;
  std::map<std::string, std::string> environment;  ///< that CMake was configured with
  bool operator==(const BuildRecipe&) const = default;

  /// JSON in one line; docs/internals/format.md says its fields.
  std::string encode() const;
  /// Throws Error for text that is no recipe. Unknown fields are ignored.
  static BuildRecipe decode(std::string_view json);
};

}  // namespace flor::detail
