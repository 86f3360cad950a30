#include "git/tree/index_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>

namespace flor::git {
namespace {

constexpr std::uint32_t kModeDirectory = 0040000;
constexpr std::size_t kFixedSize = 62;  // bytes of an entry, up to and including its flags
constexpr std::uint16_t kFlagExtended = 0x4000;
constexpr std::uint16_t kFlagStage = 0x3000;
constexpr std::uint16_t kExtendedSkipWorktree = 0x4000;
constexpr std::uint16_t kExtendedIntentToAdd = 0x2000;
constexpr std::string_view kEmptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

struct RawFile {
  std::string bytes;
  std::int64_t mtime_s = 0;
};

std::optional<RawFile> read_whole(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw Error(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  }
  RawFile raw;
  struct stat status{};
  bool good = ::fstat(file, &status) == 0;
  raw.mtime_s = status.st_mtim.tv_sec;
  raw.bytes.resize(good ? static_cast<std::size_t>(status.st_size) : 0);
  std::size_t have = 0;
  while (good && have < raw.bytes.size()) {
    const ssize_t n = ::read(file, raw.bytes.data() + have, raw.bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) have += static_cast<std::size_t>(n);
  }
  ::close(file);
  if (!good) throw Error(fmt::format("cannot read {}", path.string()));
  return raw;
}

/// A bounds-checked reader of big-endian data.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}

  std::string_view take(std::size_t size) {
    if (size > bytes_.size() - at_) damaged();
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }
  std::uint32_t u32() {
    const std::string_view b = take(4);
    std::uint32_t value = 0;
    for (char c : b) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::uint16_t u16() {
    const std::string_view b = take(2);
    return static_cast<std::uint16_t>(static_cast<unsigned char>(b[0]) << 8 |
                                      static_cast<unsigned char>(b[1]));
  }
  std::uint64_t u64() {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }
  git_oid oid() {
    git_oid id;
    std::memcpy(id.id, take(GIT_OID_RAWSZ).data(), GIT_OID_RAWSZ);
    return id;
  }
  /// The text up to the next NUL byte, which is consumed, too.
  std::string_view text() {
    const std::size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) damaged();
    const std::string_view part = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }
  /// The variable-width integer of index version 4.
  std::size_t offset_varint() {
    std::size_t value = 0;
    for (int i = 0; i < 8; ++i) {
      const auto c = static_cast<unsigned char>(take(1)[0]);
      value = i == 0 ? c & 0x7Fu : ((value + 1) << 7 | (c & 0x7Fu));
      if (!(c & 0x80)) return value;
    }
    damaged();
  }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void damaged() const {
    throw Damaged(
        fmt::format("{} is not an index that can be read; `git status` says more, `git "
                    "reset` makes it anew",
                    file_.string()));
  }

 private:
  std::string_view bytes_;
  const std::filesystem::path& file_;
  std::size_t at_ = 0;
};

/// The positions of the set bits in an EWAH-compressed bitmap, which the split index uses.
std::vector<std::size_t> read_bitmap(Cursor& in) {
  std::vector<std::size_t> set;
  in.u32();  // number of bits in all
  std::size_t words = in.u32();
  std::size_t bit = 0;
  while (words > 0) {
    const std::uint64_t marker = in.u64();
    --words;
    const std::uint64_t run = (marker >> 1 & 0xFFFFFFFFu) * 64;
    const std::uint64_t literals = marker >> 33;
    if (run > (1u << 30) || literals > words) in.damaged();
    for (std::uint64_t i = 0; i < run; ++i, ++bit) {
      if (marker & 1) set.push_back(bit);
    }
    for (std::uint64_t i = 0; i < literals; ++i, --words) {
      const std::uint64_t word = in.u64();
      for (unsigned b = 0; b < 64; ++b, ++bit) {
        if (word >> b & 1) set.push_back(bit);
      }
    }
  }
  in.u32();  // position of the last marker
  return set;
}

struct ParsedEntry : TrackedEntry {
  unsigned stage = 0;
};

struct SplitIndex {
  git_oid base{};
  std::vector<std::size_t> deleted, replaced;
};

struct Parsed {
  std::vector<ParsedEntry> entries;
  std::optional<SplitIndex> split;
};

ParsedEntry read_entry(Cursor& in, unsigned version, std::string& previous) {
  ParsedEntry entry;
  const std::size_t start = in.at();
  entry.ctime_s = in.u32();
  entry.ctime_ns = in.u32();
  entry.mtime_s = in.u32();
  entry.mtime_ns = in.u32();
  in.u32();  // device
  entry.inode = in.u32();
  entry.mode = in.u32();
  in.u32();  // user
  in.u32();  // group
  entry.size = in.u32();
  entry.id = in.oid();
  const std::uint16_t flags = in.u16();
  const std::uint16_t extended = flags & kFlagExtended ? in.u16() : std::uint16_t{0};
  entry.stage = (flags & kFlagStage) >> 12;
  entry.skip_worktree = extended & kExtendedSkipWorktree;
  // A name added without content yet (git add -N): must never count as unmodified.
  if (extended & kExtendedIntentToAdd) entry.mtime_s = entry.inode = 0;
  if (version == 4) {
    const std::size_t strip = in.offset_varint();
    if (strip > previous.size()) in.damaged();
    previous.resize(previous.size() - strip);
    previous += in.text();
    entry.path = previous;
  } else {
    entry.path = in.text();
    const std::size_t padded = (in.at() - 1 - start + 8) / 8 * 8;
    in.take(padded - (in.at() - start));
  }
  return entry;
}

Parsed parse(std::string_view bytes, const std::filesystem::path& file) {
  if (bytes.size() < 12 + GIT_OID_RAWSZ) Cursor({}, file).damaged();
  Cursor in(bytes.substr(0, bytes.size() - GIT_OID_RAWSZ), file);
  if (in.take(4) != "DIRC") in.damaged();
  const unsigned version = in.u32();
  if (version < 2 || version > 4) in.damaged();
  const std::uint32_t count = in.u32();
  if (count > bytes.size() / (version == 4 ? kFixedSize : kFixedSize + 2)) in.damaged();
  Parsed parsed;
  parsed.entries.reserve(count);
  std::string previous;
  for (std::uint32_t i = 0; i < count; ++i) {
    parsed.entries.push_back(read_entry(in, version, previous));
  }
  while (in.left() >= 8) {
    const std::string_view name = in.take(4);
    const std::string_view body = in.take(in.u32());
    if (name == "link") {
      Cursor link(body, file);
      SplitIndex split;
      split.base = link.oid();
      if (link.left() > 0) {
        split.deleted = read_bitmap(link);
        split.replaced = read_bitmap(link);
      }
      parsed.split = std::move(split);
    } else if (name[0] >= 'a' && name[0] <= 'z' && name != "sdir") {
      throw Error(fmt::format("{} uses the extension '{}' that this version of Flor does not know",
                              file.string(), printable(name)));
    }
  }
  return parsed;
}

/// Applies the changes of a split index to its shared base.
std::vector<ParsedEntry> join_split(std::vector<ParsedEntry> base, Parsed changes,
                                    const std::filesystem::path& file) {
  std::vector<bool> gone(base.size());
  std::size_t next = 0;
  for (std::size_t at : changes.split->replaced) {
    if (at >= base.size() || next >= changes.entries.size()) Cursor({}, file).damaged();
    std::string path = std::move(base[at].path);
    base[at] = std::move(changes.entries[next++]);
    if (base[at].path.empty()) base[at].path = std::move(path);
  }
  for (std::size_t at : changes.split->deleted) {
    if (at >= base.size()) Cursor({}, file).damaged();
    gone[at] = true;
  }
  std::vector<ParsedEntry> joined;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!gone[i]) joined.push_back(std::move(base[i]));
  }
  for (; next < changes.entries.size(); ++next) joined.push_back(std::move(changes.entries[next]));
  std::stable_sort(joined.begin(), joined.end(), [](const ParsedEntry& a, const ParsedEntry& b) {
    return a.path != b.path ? a.path < b.path : a.stage < b.stage;
  });
  return joined;
}

/// Adds every file below a directory that a sparse index keeps as a single entry.
void expand(git_repository* repository, const git_oid& tree_id, const std::string& prefix,
            std::vector<TrackedEntry>& out) {
  git_tree* raw = nullptr;
  check(git_tree_lookup(&raw, repository, &tree_id), "cannot read a tree of the sparse index");
  const TreeHandle tree(raw);
  for (std::size_t i = 0; i < git_tree_entrycount(raw); ++i) {
    const git_tree_entry* item = git_tree_entry_byindex(raw, i);
    const std::string path = prefix + git_tree_entry_name(item);
    if (git_tree_entry_type(item) == GIT_OBJECT_TREE) {
      expand(repository, *git_tree_entry_id(item), path + "/", out);
      continue;
    }
    TrackedEntry entry;
    entry.path = path;
    entry.mode = git_tree_entry_filemode(item);
    entry.id = *git_tree_entry_id(item);
    entry.skip_worktree = true;
    out.push_back(std::move(entry));
  }
}

}  // namespace

bool TrackedEntry::matches(const FileStat& now, std::int64_t index_mtime_s) const {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (conflicted || mtime_s == 0 || inode == 0) return false;
  // The file may have changed in the same second, after git had looked at it.
  if (static_cast<std::int64_t>(mtime_s) >= index_mtime_s) return false;
  const auto low = [](auto value) { return static_cast<std::uint32_t>(value); };
  if (low(now.mtime_ns / kSecond) != mtime_s || low(now.mtime_ns % kSecond) != mtime_ns ||
      low(now.ctime_ns / kSecond) != ctime_s || low(now.ctime_ns % kSecond) != ctime_ns ||
      low(now.inode) != inode || low(now.size) != size) {
    return false;
  }
  // git writes size 0 for an entry that may have changed right after git looked at it.
  return size != 0 || git_oid_streq(&id, kEmptyBlob.data()) == 0;
}

IndexFile read_index_file(const std::filesystem::path& git_directory, git_repository* repository) {
  IndexFile index;
  const std::filesystem::path file = git_directory / "index";
  const auto raw = read_whole(file);
  if (!raw) return index;
  index.mtime_s = raw->mtime_s;
  Parsed parsed = parse(raw->bytes, file);
  if (parsed.split) {
    std::vector<ParsedEntry> base;
    if (git_oid_is_zero(&parsed.split->base) == 0) {
      const auto shared = git_directory / ("sharedindex." + to_hex(parsed.split->base));
      const auto shared_raw = read_whole(shared);
      if (!shared_raw) Cursor({}, shared).damaged();
      base = parse(shared_raw->bytes, shared).entries;
    }
    parsed.entries = join_split(std::move(base), std::move(parsed), file);
  }
  index.entries.reserve(parsed.entries.size());
  bool expanded = false;
  for (ParsedEntry& entry : parsed.entries) {
    if (entry.mode == kModeDirectory) {
      expand(repository, entry.id, entry.path, index.entries);
      expanded = true;
      continue;
    }
    if (!index.entries.empty() && index.entries.back().path == entry.path) continue;
    entry.conflicted = entry.stage != 0;
    index.entries.push_back(std::move(entry));
  }
  if (expanded) {
    std::sort(index.entries.begin(), index.entries.end(),
              [](const TrackedEntry& a, const TrackedEntry& b) { return a.path < b.path; });
  }
  return index;
}

}  // namespace flor::git
