// The conversions of .gitattributes that libgit2 does not implement: clean commands of filter
// drivers (such as git lfs), and working-tree-encoding.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace flor::git {

/// Runs `command` in a shell in `root`, with the open file `input` as standard input, and returns
/// its output. "%f" in the command is replaced by `path`, quoted. Returns nothing if the command
/// fails.
std::optional<std::string> run_clean_command(const std::string& command,
                                             const std::filesystem::path& root,
                                             const std::string& path, int input);

/// Converts `text` from `encoding` to UTF-8. Nothing if it is not well-formed, or the encoding
/// unknown.
std::optional<std::string> to_utf8(std::string_view text, const std::string& encoding);

}  // namespace flor::git
