// What the file system of a store does: whether files can be written and locked at all, and whether
// locks hold between machines as far as the options of a mount tell.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// What says that locks in `directory` keep out processes of this machine only: "nolock", say, an
/// option of its mount, or "sshfs". Empty: nothing does.
std::string why_locks_are_local(const std::filesystem::path& directory);

/// Why files of the store in `home` cannot be locked now: "No locks available"; empty if they can,
/// or where that cannot be tried.
std::string why_locks_fail(const std::filesystem::path& home);

/// As long as statements wait for locks that a file system refuses; after that they fail. Shortened
/// by tests.
inline std::chrono::milliseconds lock_outage{5'000};

/// The error of the system with which a file of the store in `home` cannot be written now; 0 if one
/// can.
int error_of_writing(const std::filesystem::path& home);

/// `why_locks_are_local` by `mountinfo`, as proc(5) has it, of the file system with the device
/// number `device`, "0:45".
std::string why_locks_are_local(std::string_view mountinfo, std::string_view device);

}  // namespace flor::store
