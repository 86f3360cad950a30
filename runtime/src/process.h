// Facts about this process that a run keeps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace flor::detail {

std::int64_t now_us();  ///< Unix time, microseconds
std::filesystem::path executable();
/// Hex digest of a file's content; empty if it cannot be read.
std::string file_digest(const std::filesystem::path& path);
/// Host, thread settings, library versions: what an exact replay depends on.
std::map<std::string, std::string> environment();
/// "3.2 MiB"
std::string print_bytes(std::uint64_t bytes);
/// "410 ms", "3.2 s", "5 min 10 s"
std::string print_seconds(double seconds);

}  // namespace flor::detail
