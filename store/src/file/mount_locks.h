// Tests of a store's file system: whether files can be written and locked at all, and whether locks
// hold between machines, as far as mount options tell.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// The sign that locks in `directory` keep out processes of this machine only: a mount option such
/// as "nolock", or "sshfs". Empty if there is none.
std::string why_locks_are_local(const std::filesystem::path& directory);

/// The reason why files of the store in `home` cannot be locked now: "No locks available"; empty if
/// they can, or if that cannot be tried.
std::string why_locks_fail(const std::filesystem::path& home);

/// Time for which statements wait for locks that a file system refuses before they fail. Tests
/// shorten it.
inline std::chrono::milliseconds lock_outage{5'000};

/// The system error that prevents writing a file of the store in `home` now; 0 if there is none.
int error_of_writing(const std::filesystem::path& home);

/// `why_locks_are_local` for the file system with the device number `device`, "0:45", according to
/// `mountinfo` (see proc(5)).
std::string why_locks_are_local(std::string_view mountinfo, std::string_view device);

}  // namespace flor::store
