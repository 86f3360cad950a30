// How long ago files were changed, whatever the clock and the times of the files are.
#pragma once

#include <chrono>
#include <filesystem>

namespace flor::store {

/// The moment `age` before `now`, as a time of files. A clock that stands before 1970 counts as
/// 1970: the times of files are nanoseconds in 64 bits, counted from 2174, and end in 1881.
std::filesystem::file_time_type file_time_ago(
    std::chrono::seconds age,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// Whether the file was last changed before this moment; false if its time cannot be read.
bool was_changed_before(const std::filesystem::path& file, std::filesystem::file_time_type moment);

}  // namespace flor::store
