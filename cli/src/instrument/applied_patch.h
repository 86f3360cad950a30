// Changes that flor instrument --apply made, kept so that --undo can take them back exactly.
#pragma once

#include <filesystem>
#include <string>

namespace flor::instrument {

/// Throws Error if the file has other content by now.
void require_same(const std::filesystem::path& file, const std::string& content);

/// Replaces the content of `file`, which must still be `before`, and keeps both texts below `home`.
/// The file appears whole, with its mode; a link stays one. Throws Error, having changed nothing,
/// if the file has other content meanwhile.
void apply(const std::filesystem::path& home, const std::filesystem::path& file,
           const std::string& before, const std::string& after);

/// Returns the text for `undo`: the content before, with the edits that were made since. Throws
/// NotFound if nothing was applied, and Error if edits since then touch the same lines, or use
/// Flor.
std::string undone(const std::filesystem::path& home, const std::filesystem::path& file);

/// Writes what `undone` returned, and forgets what was kept.
void undo(const std::filesystem::path& home, const std::filesystem::path& file,
          const std::string& text);

}  // namespace flor::instrument
