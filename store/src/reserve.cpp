#include "reserve.h"

#include <fcntl.h>

#include <random>
#include <span>
#include <system_error>
#include <vector>

namespace flor::store {
namespace {

/// With less room than this the reserve would be what fills the disk.
constexpr std::uint64_t kRoomBytes = 64 * kReserveBytes;

/// Nothing that a file system would compress.
std::vector<std::uint64_t> noise() {
  std::vector<std::uint64_t> words(kReserveBytes / sizeof(std::uint64_t));
  std::mt19937_64 random(1);
  for (std::uint64_t& word : words) word = random();
  return words;
}

}  // namespace

void make_reserve(const Paths& paths, Filesystem& files) noexcept {
  try {
    std::error_code error;
    if (std::filesystem::exists(paths.reserve(), error)) return;
    if (files.available(paths.home.c_str()) < kRoomBytes) return;
    const std::vector<std::uint64_t> words = noise();
    File file(files, paths.reserve(), O_WRONLY | O_CREAT | O_EXCL, kInHome);
    file.write_at(std::as_bytes(std::span(words)), 0);
  } catch (const std::exception&) {  // what there is of it is better than nothing
  }
}

bool give_up_reserve(const Paths& paths, Filesystem& files) noexcept {
  return files.unlink(paths.reserve().c_str()) == 0;
}

}  // namespace flor::store
