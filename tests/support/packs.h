// Finds the pack files of a home.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flor::testing {

/// All files two levels below `home`/packs, in no order, even if they are no packs.
inline std::vector<std::filesystem::directory_entry> packs_of(const std::filesystem::path& home) {
  std::vector<std::filesystem::directory_entry> found;
  for (const auto& directory : std::filesystem::directory_iterator(home / "packs")) {
    if (!directory.is_directory()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) found.push_back(entry);
  }
  return found;
}

/// The path of the pack with this name of 16 hex digits, whether or not it exists. Makes its
/// directory.
inline std::filesystem::path place_of_pack(const std::filesystem::path& home,
                                           const std::string& name) {
  const auto directory = home / "packs" / name.substr(0, 2);
  std::filesystem::create_directories(directory);
  return directory / (name + ".pack");
}

}  // namespace flor::testing
