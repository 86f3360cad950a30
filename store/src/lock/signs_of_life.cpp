#include "lock/signs_of_life.h"

#include "database/store_impl.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace flor::store {
namespace {

/// Calls `visit` for each entry of a directory; for none if it cannot be read.
template <typename Visit>
void visit_entries(const std::filesystem::path& directory, Visit visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    visit(at->path());
  }
}

}  // namespace

std::vector<std::string> locked_runs(const Store& store) {
  std::vector<std::string> keys;
  visit_entries(store.impl().database->paths.locks(), [&](const std::filesystem::path& path) {
    if (path.extension() == ".lock") keys.push_back(path.stem().string());
  });
  std::ranges::sort(keys);
  return keys;
}

std::int64_t last_sign_us(const Store& store, std::string_view key) {
  constexpr std::int64_t kMicrosecond = 1'000'000, kNanoseconds = 1'000;
  std::int64_t last = 0;
  visit_entries(store.impl().database->paths.run(key), [&](const std::filesystem::path& writer) {
    visit_entries(writer, [&](const std::filesystem::path& file) {
      struct stat facts {};
      if (::lstat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
      last = std::max(last,
                      facts.st_mtim.tv_sec * kMicrosecond + facts.st_mtim.tv_nsec / kNanoseconds);
    });
  });
  return last;
}

}  // namespace flor::store
