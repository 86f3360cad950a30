#include "file/content.h"

#include "base/digest_stream.h"
#include "base/little_endian.h"
#include "file/filesystem.h"
#include "file/home_files.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

/// Smaller ones are read faster than a file about them.
constexpr std::uint64_t kRememberedBytes = 1 << 20;
constexpr std::int64_t kRememberedFiles = 64;
/// Then all are forgotten: what is asked for again comes back.
constexpr int kRememberedMax = 4096;
constexpr std::int64_t kUnsureNs = 2'000'000'000;

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now);
}

struct Entry {
  std::string name;  ///< relative to the directory; empty: the path itself
  struct stat status {};
  bool is_link() const { return S_ISLNK(status.st_mode); }
};

struct Listing {
  bool is_directory = false;
  std::vector<Entry> entries;  ///< by the bytes of their names
  Digest facts;
  std::int64_t last_change_ns = 0;
};

Entry entry_of(const fs::path& path, std::string name, bool follows) {
  Entry entry{std::move(name), {}};
  const int result =
      follows ? ::stat(path.c_str(), &entry.status) : ::lstat(path.c_str(), &entry.status);
  if (result != 0) throw_system_error("read", path, errno);
  return entry;
}

/// Files and links below the directory; pipes, sockets and devices have no content.
void list(const fs::path& root, std::vector<Entry>& entries) {
  std::error_code error;
  fs::recursive_directory_iterator all(root, error);
  for (; !error && all != fs::recursive_directory_iterator(); all.increment(error)) {
    Entry entry =
        entry_of(all->path(), all->path().lexically_relative(root).generic_string(), false);
    if (!S_ISREG(entry.status.st_mode) && !entry.is_link()) continue;
    if (entries.size() == kContentFilesMax) {
      throw Error(fmt::format("{} has more than {} files: name the files that are read",
                              root.string(), kContentFilesMax));
    }
    entries.push_back(std::move(entry));
  }
  if (error) throw_system_error("read", root, error.value());
  std::ranges::sort(entries, {}, &Entry::name);
}

void add_number(DigestStream& digest, std::uint64_t number) {
  std::array<std::byte, sizeof number> bytes;
  put(bytes, number);
  digest.add(bytes);
}

void add_text(DigestStream& digest, std::string_view text) {
  add_number(digest, text.size());
  digest.add(std::as_bytes(std::span(text)));
}

Listing listing_of(const fs::path& path) {
  Listing listing;
  Entry top = entry_of(path, {}, true);
  listing.is_directory = S_ISDIR(top.status.st_mode);
  if (!listing.is_directory && !S_ISREG(top.status.st_mode)) {
    throw Error(fmt::format("{} is neither a file nor a directory", path.string()));
  }
  if (listing.is_directory) {
    list(path, listing.entries);
  } else {
    listing.entries.push_back(std::move(top));
  }
  DigestStream facts;
  for (const Entry& entry : listing.entries) {
    const struct stat& status = entry.status;
    const std::int64_t modified = ns_of(status.st_mtim), changed = ns_of(status.st_ctim);
    add_text(facts, entry.name);
    for (const std::uint64_t number :
         {std::uint64_t{status.st_mode}, std::uint64_t{status.st_dev}, std::uint64_t{status.st_ino},
          static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(modified),
          static_cast<std::uint64_t>(changed)}) {
      add_number(facts, number);
    }
    listing.last_change_ns = std::max({listing.last_change_ns, modified, changed});
  }
  listing.facts = facts.digest();
  return listing;
}

/// The digest of a file is that of an item.
Digest digest_of_file(const fs::path& path, std::uint64_t& bytes) {
  const int descriptor = Filesystem::system().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) throw_system_error("read", path, errno);
  std::vector<std::byte> chunk(kChunkBytes);
  std::vector<Digest> digests;
  int error = 0;
  for (bool ended = false; !ended;) {
    std::size_t filled = 0;
    while (filled < chunk.size()) {
      const ssize_t count = ::read(descriptor, &chunk[filled], chunk.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) error = errno;
      if (count <= 0) break;
      filled += static_cast<std::size_t>(count);
    }
    ended = filled < chunk.size();
    if (filled > 0) digests.push_back(digest_of(std::span(chunk).first(filled)));
    bytes += filled;
  }
  ::close(descriptor);
  if (error != 0) throw_system_error("read", path, error);
  return item_digest(digests);
}

Digest digest_of_link(const fs::path& path, std::uint64_t& bytes) {
  std::error_code error;
  const std::string target = fs::read_symlink(path, error).string();
  if (error) throw_system_error("read", path, error.value());
  bytes += target.size();
  return digest_of(std::as_bytes(std::span(target)));
}

FileContent read_content(const fs::path& path, const Listing& listing) {
  FileContent content{.is_directory = listing.is_directory, .bytes = 0, .files = 0, .digest = {}};
  DigestStream digest;
  for (const Entry& entry : listing.entries) {
    const fs::path file = entry.name.empty() ? path : path / entry.name;
    std::uint64_t bytes = 0;
    const Digest own = entry.is_link() ? digest_of_link(file, bytes) : digest_of_file(file, bytes);
    content.bytes += bytes;
    ++content.files;
    if (!listing.is_directory) {
      content.digest = own;
      return content;
    }
    add_number(digest, entry.is_link() ? 1 : 0);
    add_text(digest, entry.name);
    digest.add(std::as_bytes(std::span(own.bytes)));
  }
  content.digest = digest.digest();
  return content;
}

}  // namespace

ContentReader::ContentReader(fs::path memory, Clock clock)
    : memory_(std::move(memory)), clock_(clock ? std::move(clock) : Clock(clock_ns)) {}

fs::path ContentReader::file_of(const fs::path& path) const {
  return memory_ / digest_of(std::as_bytes(std::span(path.native()))).hex();
}

namespace {

/// "FACTS DIGEST DIRECTORY BYTES FILES" and the digest of that.
std::string line_of(const Digest& facts, const FileContent& content) {
  return fmt::format("{} {} {:d} {} {}", facts.hex(), content.digest.hex(), content.is_directory,
                     content.bytes, content.files);
}

std::string check_of(const std::string& line) {
  return digest_of(std::as_bytes(std::span(line))).hex();
}

/// False for a symbolic link, which could lead out of Flor's home, and for a named pipe, because
/// opening one blocks until another process writes to it.
bool is_plain_file(const fs::path& file) {
  std::error_code error;
  return fs::symlink_status(file, error).type() == fs::file_type::regular;
}

std::optional<FileContent> remembered(const fs::path& file, const Digest& facts) {
  if (!is_plain_file(file)) return std::nullopt;
  std::ifstream in(file);
  std::string line, check, facts_text, digest_text;
  if (!std::getline(in, line) || !std::getline(in, check) || check != check_of(line)) {
    return std::nullopt;
  }
  std::istringstream words(line);
  FileContent content;
  words >> facts_text >> digest_text >> content.is_directory >> content.bytes >> content.files;
  const auto digest = Digest::from_hex(digest_text);
  if (!words || !digest || facts_text != facts.hex()) return std::nullopt;
  content.digest = *digest;
  return content;
}

}  // namespace

/// A disk that refuses costs another reading.
void ContentReader::remember(const fs::path& path, const Known& known) {
  known_[path.native()] = known;
  const FileContent& content = known.content;
  if (memory_.empty() || (content.bytes < kRememberedBytes && content.files < kRememberedFiles)) {
    return;
  }
  std::error_code error;
  make_directory_in_home(memory_, error);
  const auto others = fs::directory_iterator(memory_, error);
  if (error) return;
  if (std::distance(begin(others), end(others)) >= kRememberedMax) {
    for (const auto& entry : fs::directory_iterator(memory_, error)) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
  }
  const std::string line = line_of(known.facts, content);
  const fs::path file = file_of(path);
  if (!is_plain_file(file) && fs::exists(fs::symlink_status(file, error))) return;
  const int descriptor = open_in_home(file, O_WRONLY | O_CREAT | O_TRUNC);
  if (descriptor < 0) return;
  // Half of it has another check, and counts as nothing.
  const std::string text = line + "\n" + check_of(line) + "\n";
  (void)!::write(descriptor, text.data(), text.size());
  ::close(descriptor);
}

ContentReader::Found ContentReader::read(const fs::path& path) {
  const fs::path place = fs::absolute(path);  // not normal: a link may be before a ".."
  const std::int64_t began_ns = clock_();
  const Listing listing = listing_of(place);
  const bool sure = listing.last_change_ns + kUnsureNs < began_ns;
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(place.native());
    if (known != known_.end() && known->second.facts == listing.facts) {
      return {known->second.content};
    }
  }
  if (!memory_.empty()) {
    if (const auto content = remembered(file_of(place), listing.facts)) return {*content};
  }
  const FileContent content = read_content(place, listing);
  // Changed meanwhile, it is what was read, and nothing to be remembered.
  if (sure && listing_of(place).facts == listing.facts) {
    const std::lock_guard lock(mutex_);
    remember(place, {listing.facts, content});
  }
  return {content, true};
}

}  // namespace flor::store
