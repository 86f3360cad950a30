#include "git/tree/stat_cache.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace flor::git {
namespace {

constexpr std::string_view kMagic = "FLORSTAT";
/// Version of the format. To be increased also when more kinds of content count as secret, so that
/// all files are searched again.
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kHeaderSize = 8 + sizeof(std::uint64_t);  // magic, checksum of the rest
constexpr std::int64_t kSecond = 1'000'000'000;
/// In nanoseconds. Longer than a tick of any kernel's coarse clock, from which file times come.
constexpr std::int64_t kRacyMargin = 20'000'000;

template <typename T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  bool get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return true;
  }
  bool get(std::string& value, std::size_t size) {
    if (bytes_.size() < size) return false;
    value.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

std::string read_raw(const std::filesystem::path& path) {
  std::string bytes;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return bytes;
  struct stat status{};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t n = ::read(file, bytes.data() + have, bytes.size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      have += static_cast<std::size_t>(n);
    }
    bytes.resize(have);
  }
  ::close(file);
  return bytes;
}

bool parse(std::string_view bytes, StatCache& cache) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) return false;
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kMagic.size(), sizeof checksum);
  bytes.remove_prefix(kHeaderSize);
  if (XXH3_64bits(bytes.data(), bytes.size()) != checksum) return false;
  Reader in(bytes);
  std::uint32_t version = 0, entries = 0, trees = 0;
  if (!in.get(version) || version != kVersion || !in.get(cache.stamp_ns) || !in.get(cache.commit) ||
      !in.get(cache.head) || !in.get(entries) || !in.get(trees)) {
    return false;
  }
  if (entries > bytes.size() || trees > bytes.size()) return false;
  cache.entries.resize(entries);
  for (FileEntry& entry : cache.entries) {
    std::uint32_t length = 0;
    if (!in.get(entry.stat.mtime_ns) || !in.get(entry.stat.ctime_ns) || !in.get(entry.stat.inode) ||
        !in.get(entry.stat.size) || !in.get(entry.stat.mode) || !in.get(entry.mode) ||
        !in.get(entry.id) || !in.get(entry.searched) || !in.get(length) ||
        !in.get(entry.path, length)) {
      return false;
    }
  }
  cache.trees.resize(trees);
  for (DirectoryTree& tree : cache.trees) {
    std::uint32_t length = 0;
    if (!in.get(tree.id) || !in.get(length) || !in.get(tree.path, length)) return false;
  }
  return in.left() == 0;
}

std::string serialize(const StatCache& cache) {
  std::string body;
  body.reserve(cache.entries.size() * 128 + cache.trees.size() * 64 + 128);
  put(body, kVersion);
  put(body, cache.stamp_ns);
  put(body, cache.commit);
  put(body, cache.head);
  put(body, static_cast<std::uint32_t>(cache.entries.size()));
  put(body, static_cast<std::uint32_t>(cache.trees.size()));
  for (const FileEntry& entry : cache.entries) {
    put(body, entry.stat.mtime_ns);
    put(body, entry.stat.ctime_ns);
    put(body, entry.stat.inode);
    put(body, entry.stat.size);
    put(body, entry.stat.mode);
    put(body, entry.mode);
    put(body, entry.id);
    put(body, entry.searched);
    put(body, static_cast<std::uint32_t>(entry.path.size()));
    body += entry.path;
  }
  for (const DirectoryTree& tree : cache.trees) {
    put(body, tree.id);
    put(body, static_cast<std::uint32_t>(tree.path.size()));
    body += tree.path;
  }
  std::string bytes(kMagic);
  put(bytes, static_cast<std::uint64_t>(XXH3_64bits(body.data(), body.size())));
  return bytes + body;
}

}  // namespace

FileStat FileStat::of(const struct stat& status) {
  FileStat stat;
  stat.mtime_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  stat.ctime_ns = status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec;
  stat.inode = status.st_ino;
  stat.size = static_cast<std::uint64_t>(status.st_size);
  stat.mode = status.st_mode;
  return stat;
}

bool StatCache::trusts(const FileEntry& entry, const FileStat& now) const {
  if (!(entry.stat == now)) return false;
  const std::int64_t latest = std::max(now.mtime_ns, now.ctime_ns);
  // A time without a fraction comes from a file system that counts in units of one or two seconds.
  const std::int64_t margin = now.ctime_ns % kSecond == 0 ? 2 * kSecond : kRacyMargin;
  return latest + margin < stamp_ns;
}

const DirectoryTree* StatCache::tree_of(std::string_view directory) const {
  const auto found =
      std::lower_bound(trees.begin(), trees.end(), directory,
                       [](const DirectoryTree& a, std::string_view b) { return a.path < b; });
  return found != trees.end() && found->path == directory ? &*found : nullptr;
}

StatCache StatCache::load(const std::filesystem::path& file) {
  StatCache cache;
  if (parse(read_raw(file), cache)) return cache;
  return StatCache{};
}

StatCacheWriter::StatCacheWriter(const std::filesystem::path& file) : file_(file) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  temporary_ = file.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  struct stat status{};
  if (descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0) {
    stamp_ns_ = FileStat::of(status).ctime_ns;
  }
}

StatCacheWriter::~StatCacheWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void StatCacheWriter::publish(const StatCache& cache) {
  if (descriptor_ < 0) return;
  const std::string bytes = serialize(cache);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    written += static_cast<std::size_t>(n);
  }
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) return;
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace flor::git
