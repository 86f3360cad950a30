// The conversions of .gitattributes that libgit2 does not do: clean commands of filter drivers (git
// lfs and the like) and working-tree-encoding.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace flor::git {

/// Runs `command` by the shell in `root`, with the open file `input` as its standard input, and
/// returns its output; "%f" stands for `path`, quoted. Nothing if it fails.
std::optional<std::string> run_clean_command(const std::string& command,
                                             const std::filesystem::path& root,
                                             const std::string& path, int input);

/// `text` in UTF-8; nothing if it is not well-formed or the encoding is unknown.
std::optional<std::string> to_utf8(std::string_view text, const std::string& encoding);

}  // namespace flor::git
