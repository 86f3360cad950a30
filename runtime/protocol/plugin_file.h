// A plug-in file (flor/plugin/probe.h), and the versions that it was built for, which are read from
// the file without loading it.
#pragma once

#include <filesystem>
#include <string>

namespace flor::detail {

struct PluginFile {
  std::filesystem::path path;  ///< absolute
  std::string digest;          ///< of the content, which identifies the plug-in
  std::string libtorch;        ///< its version; empty: the plug-in does not use it

  std::string name() const { return path.filename().string(); }
};

/// Throws NotFound if there is no such file, and UsageError if it is no plug-in or was built for
/// another version of the interface.
PluginFile read_plugin_file(const std::filesystem::path& path);

}  // namespace flor::detail
