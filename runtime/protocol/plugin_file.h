// A plug-in as a file (flor/plugin/probe.h): the versions it was built for, read without loading
// it.
#pragma once

#include <filesystem>
#include <string>

namespace flor::detail {

struct PluginFile {
  std::filesystem::path path;  ///< absolute
  std::string digest;          ///< of its content, by which it is known
  std::string libtorch;        ///< version; empty: it does not use it

  std::string name() const { return path.filename().string(); }
};

/// Throws NotFound, or UsageError for a file that is no plug-in or has another interface.
PluginFile read_plugin_file(const std::filesystem::path& path);

}  // namespace flor::detail
