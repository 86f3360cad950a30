// Whether locks of files hold between machines, as far as the options of a mount tell.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

/// What says that locks in `directory` keep out processes of this machine only: "nolock", say, an
/// option of its mount, or "sshfs". Empty: nothing does.
std::string why_locks_are_local(const std::filesystem::path& directory);

/// The same by `mountinfo`, as proc(5) has it, of the file system with the device number `device`,
/// "0:45".
std::string why_locks_are_local(std::string_view mountinfo, std::string_view device);

}  // namespace flor::store
