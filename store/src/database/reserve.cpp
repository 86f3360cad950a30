#include "database/reserve.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <random>
#include <span>
#include <system_error>
#include <vector>

namespace flor::store {
namespace {

/// Required free space. With less, the reserve itself might fill the disk.
constexpr std::uint64_t kRoomBytes = 2 * kReserveBytes;

/// Returns content that no file system can compress, so that it really occupies the space.
std::vector<std::uint64_t> noise() {
  std::vector<std::uint64_t> words(kReserveBytes / sizeof(std::uint64_t));
  std::mt19937_64 random(1);
  for (std::uint64_t& word : words) word = random();
  return words;
}

}  // namespace

void make_reserve(const Paths& paths, Filesystem& files) noexcept {
  try {
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(paths.reserve(), none);
    if (!none && bytes == kReserveBytes) return;
    const bool is_missing = none == std::errc::no_such_file_or_directory;
    if (!is_missing && (none || bytes > kReserveBytes)) give_up_reserve(paths, files);
    if (files.available(paths.home.c_str()) < kRoomBytes) return;
    const std::vector<std::uint64_t> words = noise();
    File file(files, paths.reserve(), O_WRONLY | O_CREAT, kInHome);
    file.write_at(std::as_bytes(std::span(words)), 0);
  } catch (const std::exception&) {  // a partly written reserve is better than none
  }
}

bool give_up_reserve(const Paths& paths, Filesystem& files) noexcept {
  return files.unlink(paths.reserve().c_str()) == 0;
}

void throw_disk_is_full(const Paths& paths) {
  throw SystemError(
      fmt::format(
          "the disk of the store {} is full, and its reserve is used up: remove other files "
          "from that disk, then try again",
          paths.home.string()),
      ENOSPC);
}

}  // namespace flor::store
