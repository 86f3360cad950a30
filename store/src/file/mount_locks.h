// Tests whether files on a store's file system can be written and locked, and whether locks are
// effective between machines, as far as the mount options tell.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// Returns why locks in `directory` affect processes of this machine only: a mount option such as
/// "nolock", or "sshfs". Empty if there is no sign of that.
std::string why_locks_are_local(const std::filesystem::path& directory);

/// Returns why files of the store in `home` cannot be locked, as "No locks available"; empty if
/// they can, or if that could not be tested.
std::string why_locks_fail(const std::filesystem::path& home);

/// How long a statement retries when the file system refuses a lock. Tests shorten it.
inline std::chrono::milliseconds lock_outage{5'000};

/// Returns the errno with which writing a file of the store in `home` fails; 0 if it succeeds.
int error_of_writing(const std::filesystem::path& home);

/// Returns why locks affect this machine only, for the file system with the device number `device`
/// (as "0:45") according to `mountinfo`, the text of /proc/self/mountinfo (see proc(5)). Empty if
/// there is no sign of that.
std::string why_locks_are_local(std::string_view mountinfo, std::string_view device);

}  // namespace flor::store
