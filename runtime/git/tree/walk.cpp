#include "git/tree/walk.h"

#include "base/text.h"
#include "git/secret_files.h"
#include "git/tree/stat_ahead.h"
#include "git/tree/submodule.h"

#include <flor/store/error.h>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace flor::git {
namespace {

constexpr std::string_view kExcludeFile = "flor.exclude";

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using DirectoryHandle = std::unique_ptr<DIR, CloseDirectory>;

struct Child {
  std::string name;
  unsigned char type = DT_UNKNOWN;
};

/// The order of paths, in which the name of a directory counts with a slash after it.
bool path_order(const Child& a, const Child& b) {
  const std::size_t common = std::min(a.name.size(), b.name.size());
  const int order = std::memcmp(a.name.data(), b.name.data(), common);
  if (order != 0) return order < 0;
  const auto next = [common](const Child& child) {
    if (child.name.size() > common) return static_cast<unsigned char>(child.name[common]);
    return static_cast<unsigned char>(child.type == DT_DIR ? '/' : '\0');
  };
  return next(a) < next(b);
}

/// Whether git refuses the name, since some file system takes it for ".git".
bool is_refused_name(std::string_view name) {
  if (name.empty() || (name[0] != '.' && name[0] != 'g' && name[0] != 'G' && name[0] != '\xE2' &&
                       name[0] != '\xEF')) {
    return false;
  }
  std::string lower;
  for (std::size_t i = 0; i < name.size(); ++i) {
    // These characters, which HFS+ ignores: U+200C..200F, U+202A..202E, U+206A..206F and U+FEFF.
    const std::string_view three = name.substr(i, 3);
    const auto last = static_cast<unsigned char>(three.back());
    const bool ignorable = three.size() == 3 &&
                           ((three.starts_with("\xE2\x80") &&
                             ((last >= 0x8C && last <= 0x8F) || (last >= 0xAA && last <= 0xAE))) ||
                            (three.starts_with("\xE2\x81") && last >= 0xAA && last <= 0xAF) ||
                            three == "\xEF\xBB\xBF");
    if (ignorable) {
      i += 2;
      continue;
    }
    const char c = name[i];
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  while (lower.ends_with(' ') || (lower.ends_with('.') && lower.size() > 2)) lower.pop_back();
  const std::string_view stem = std::string_view(lower).substr(0, lower.find(':'));
  return stem == ".git" || stem == "git~1";
}

std::string read_small(int directory, const char* name) {
  std::string text;
  const int file = ::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return text;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(file, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(part, static_cast<std::size_t>(n));
  }
  ::close(file);
  return text;
}

/// Properties of a directory that hold for all entries in it.
struct Inherited {
  bool ignored = false;   ///< only tracked files count
  bool excluded = false;  ///< excluded by flor.exclude
};

class Walker {
 public:
  explicit Walker(const WalkInput& input);
  Walked run();

 private:
  void directory(int parent, const char* name, Inherited inherited);
  bool list(DIR* directory, std::vector<Child>& children, bool& ignores, bool& repository);
  void child_directory(int parent, const Child& child, Inherited inherited);
  void child_file(int parent, const Child& child, Inherited inherited);
  void untracked_file(FoundFile found, Inherited inherited);
  void identify(FoundFile& found);
  void nested_repository(const TrackedEntry* tracked);
  void keep_link(const TrackedEntry& tracked);
  void leave_out(std::string_view why);
  const TrackedEntry* tracked_file();
  const TrackedEntry* tracked_link();
  bool tracks_below();
  std::vector<std::string> below_root(const std::vector<std::filesystem::path>& places) const;
  bool is_to_be_left_out() const;
  bool is_built(const std::vector<Child>& children) const;
  std::uint32_t mode_of(const FileStat& stat, const TrackedEntry* tracked) const;
  std::optional<FileStat> stat_of(int parent, const Child& child, const TrackedEntry* tracked);

  const WalkInput& in_;
  Walked out_;
  StatAhead ahead_;
  IgnoreStack ignore_;
  PatternList exclude_{"", ""};
  std::string path_;  ///< of the present entry; directories end with a slash
  std::size_t tracked_at_ = 0, cached_at_ = 0;
  std::vector<const TrackedEntry*> links_;  ///< tracked submodules
  std::vector<std::string> without_;        ///< never recorded; paths relative to the root
  std::vector<std::string> built_;          ///< written by builds; paths relative to the root
  bool file_mode_ = true, symlinks_ = true;
};

Walker::Walker(const WalkInput& input) : in_(input), ahead_(input.root, input.index.entries) {
  out_.seen.resize(in_.index.entries.size());
  out_.files.reserve(in_.index.entries.size() + 64);
  for (const TrackedEntry& entry : in_.index.entries) {
    if (entry.mode == GIT_FILEMODE_COMMIT) links_.push_back(&entry);
  }
  without_ = below_root(in_.options.without);
  built_ = below_root(in_.options.built);
  git_config* raw = nullptr;
  check(git_repository_config_snapshot(&raw, in_.repository), "cannot read the git configuration");
  const ConfigHandle config(raw);
  const auto flag = [raw](const char* name) {
    int value = 1;
    return git_config_get_bool(&value, raw, name) != 0 || value != 0;
  };
  file_mode_ = flag("core.filemode");
  symlinks_ = flag("core.symlinks");

  Buffer file;
  std::string excludes;
  if (git_config_get_path(file.get(), raw, "core.excludesfile") == 0) {
    excludes = file.view();
  } else if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg) {
    excludes = std::string(xdg) + "/git/ignore";
  } else if (const char* home = std::getenv("HOME"); home && *home) {
    excludes = std::string(home) + "/.config/git/ignore";
  }
  const auto push_file = [this](const std::string& name) {
    ignore_.push(PatternList(read_small(AT_FDCWD, name.c_str()), ""));
  };
  push_file(excludes);
  push_file(std::string(git_repository_commondir(in_.repository)) + "info/exclude");
  exclude_ = PatternList(read_small(AT_FDCWD, (in_.root / std::string(kExcludeFile)).c_str()), "");
}

std::vector<std::string> Walker::below_root(
    const std::vector<std::filesystem::path>& places) const {
  std::vector<std::string> found;
  for (const std::filesystem::path& place : places) {
    const auto relative = place.lexically_relative(in_.root);
    if (relative.empty() || *relative.begin() == ".." || relative == ".") continue;
    std::string text = relative.generic_string();
    if (!text.ends_with('/')) text += '/';
    found.push_back(std::move(text));
  }
  return found;
}

Walked Walker::run() {
  directory(AT_FDCWD, in_.root.c_str(), {});
  return std::move(out_);
}

void Walker::leave_out(std::string_view why) {
  out_.left_out.push_back(fmt::format("{} ({})", printable(path_), why));
}

/// The tracked file at path_, which is marked as seen; null if there is none. Paths come in order,
/// so the search only moves forward.
const TrackedEntry* Walker::tracked_file() {
  const auto& entries = in_.index.entries;
  while (tracked_at_ < entries.size() && entries[tracked_at_].path < path_) ++tracked_at_;
  if (tracked_at_ == entries.size() || entries[tracked_at_].path != path_) return nullptr;
  out_.seen[tracked_at_] = true;
  return &entries[tracked_at_];
}

bool Walker::tracks_below() {
  const auto& entries = in_.index.entries;
  while (tracked_at_ < entries.size() && entries[tracked_at_].path < path_) ++tracked_at_;
  return tracked_at_ < entries.size() && entries[tracked_at_].path.starts_with(path_);
}

const TrackedEntry* Walker::tracked_link() {
  const std::string_view path = std::string_view(path_).substr(0, path_.size() - 1);
  const auto found =
      std::lower_bound(links_.begin(), links_.end(), path,
                       [](const TrackedEntry* a, std::string_view b) { return a->path < b; });
  if (found == links_.end() || (*found)->path != path) return nullptr;
  out_.seen[static_cast<std::size_t>(*found - in_.index.entries.data())] = true;
  return *found;
}

bool Walker::is_to_be_left_out() const {
  return std::find(without_.begin(), without_.end(), path_) != without_.end();
}

/// Whether only builds write to this directory: it has CMake's cache but not the project's sources.
bool Walker::is_built(const std::vector<Child>& children) const {
  if (path_.empty()) return false;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(children, [&](const Child& child) { return child.name == name; });
  };
  const bool named = std::ranges::find(built_, path_) != built_.end();
  return (named || has("CMakeCache.txt")) && !has("CMakeLists.txt");
}

bool Walker::list(DIR* directory, std::vector<Child>& children, bool& ignores, bool& repository) {
  for (;;) {
    errno = 0;
    const dirent* item = ::readdir(directory);
    if (!item) break;
    Child child{item->d_name, item->d_type};
    if (child.name == "." || child.name == "..") continue;
    if (child.name == ".git") {
      repository = true;
      continue;
    }
    if (child.type == DT_UNKNOWN) {
      struct stat status{};
      if (::fstatat(::dirfd(directory), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      child.type = IFTODT(status.st_mode);
    }
    if (child.type != DT_REG && child.type != DT_DIR && child.type != DT_LNK) continue;
    if (child.name == ".gitignore") ignores = true;
    children.push_back(std::move(child));
  }
  if (errno != 0) return false;
  std::sort(children.begin(), children.end(), path_order);
  return true;
}

void Walker::directory(int parent, const char* name, Inherited inherited) {
  const TrackedEntry* link = path_.empty() ? nullptr : tracked_link();
  const int file =
      ::openat(parent, name, O_RDONLY | O_CLOEXEC | O_DIRECTORY | (path_.empty() ? 0 : O_NOFOLLOW));
  const DirectoryHandle handle(file < 0 ? nullptr : ::fdopendir(file));
  std::vector<Child> children;
  bool ignores = false, repository = false;
  if (!handle || !list(handle.get(), children, ignores, repository)) {
    if (errno == ENOENT && !path_.empty()) return;
    if (path_.empty()) {
      throw Error(fmt::format("cannot read {}: {}", in_.root.string(), std::strerror(errno)));
    }
    leave_out(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (link) keep_link(*link);
    out_.unreadable.push_back(path_);
    return;
  }
  if (!path_.empty() && repository && !tracks_below() && is_repository(in_.root / path_)) {
    nested_repository(link);
    return;
  }
  if (link) {
    if (!children.empty()) leave_out("submodule that is not checked out");
    keep_link(*link);
    return;
  }
  if (is_built(children)) inherited.ignored = true;
  const bool pushed = ignores && !inherited.ignored;
  if (pushed) {
    ignore_.push(PatternList(read_small(::dirfd(handle.get()), ".gitignore"), path_));
  }
  const std::size_t length = path_.size();
  for (const Child& child : children) {
    path_ += child.name;
    if (is_refused_name(child.name)) {
      leave_out("git does not allow this name");
    } else if (child.type == DT_DIR) {
      path_ += '/';
      child_directory(::dirfd(handle.get()), child, inherited);
    } else {
      child_file(::dirfd(handle.get()), child, inherited);
    }
    path_.resize(length);
  }
  if (pushed) ignore_.pop();
}

void Walker::child_directory(int parent, const Child& child, Inherited inherited) {
  if (is_to_be_left_out()) return;
  const std::string_view plain = std::string_view(path_).substr(0, path_.size() - 1);
  const bool tracked = tracks_below() || tracked_link();
  if (!inherited.ignored && ignore_.ignores(plain, true)) inherited.ignored = true;
  if (inherited.ignored && !tracked) return;
  if (const auto excluded = exclude_.excludes(plain, true)) inherited.excluded = *excluded;
  if (inherited.excluded && !tracked) {
    leave_out(kExcludeFile);
    return;
  }
  directory(parent, child.name.c_str(), inherited);
}

std::uint32_t Walker::mode_of(const FileStat& stat, const TrackedEntry* tracked) const {
  if (S_ISLNK(stat.mode)) return GIT_FILEMODE_LINK;
  if (!symlinks_ && tracked && tracked->mode == GIT_FILEMODE_LINK) return GIT_FILEMODE_LINK;
  if (file_mode_) {
    return stat.mode & S_IXUSR ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
  }
  const bool executable = tracked && tracked->mode == GIT_FILEMODE_BLOB_EXECUTABLE;
  return executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
}

std::optional<FileStat> Walker::stat_of(int parent, const Child& child,
                                        const TrackedEntry* tracked) {
  if (tracked) {
    const auto at = static_cast<std::size_t>(tracked - in_.index.entries.data());
    if (auto stat = ahead_.seen(at)) return stat;
  }
  struct stat status{};
  if (::fstatat(parent, child.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return FileStat::of(status);
}

void Walker::child_file(int parent, const Child& child, Inherited inherited) {
  const TrackedEntry* tracked = tracked_file();
  if (!tracked && (inherited.ignored || ignore_.ignores(path_, false))) return;
  const auto stat = stat_of(parent, child, tracked);
  if (!stat || (!S_ISREG(stat->mode) && !S_ISLNK(stat->mode))) return;
  if (child.name == ".gitmodules" && S_ISLNK(stat->mode)) {
    leave_out("git does not allow a symbolic link of this name");
    return;
  }
  if (const auto excluded = exclude_.excludes(path_, false)) inherited.excluded = *excluded;
  FoundFile found;
  found.entry.path = path_;
  found.entry.stat = *stat;
  found.entry.mode = mode_of(*stat, tracked);
  found.tracked = tracked;
  if (!tracked) {
    untracked_file(std::move(found), inherited);
    return;
  }
  if (inherited.excluded && !tracked->conflicted) {
    leave_out("flor.exclude; recorded as the index has it");
    found.entry.mode = tracked->mode;
    found.entry.id = tracked->id;
    found.entry.stat = FileStat{};
    found.known = true;
  } else if (const bool same_kind = S_ISLNK(stat->mode) == (tracked->mode == GIT_FILEMODE_LINK) &&
                                    tracked->mode != GIT_FILEMODE_COMMIT;
             same_kind && tracked->matches(*stat, in_.index.mtime_s)) {
    found.entry.id = tracked->id;
    found.known = true;
  } else {
    identify(found);
  }
  out_.files.push_back(std::move(found));
}

void Walker::untracked_file(FoundFile found, Inherited inherited) {
  const bool included = exclude_.excludes(path_, false) == false;
  if (inherited.excluded) {
    leave_out(kExcludeFile);
  } else if (!included && std::ranges::binary_search(in_.options.outputs, path_)) {
    out_.outputs.add(path_, found.entry.stat.size);
  } else if (!included && secret_name(path_) == SecretName::secret) {
    out_.secrets.push_back(printable(path_));
  } else if (found.entry.stat.size > in_.options.untracked_bytes_max) {
    leave_out(store::print_bytes(found.entry.stat.size) + ", untracked");
  } else {
    found.guarded = !included;
    identify(found);
    out_.files.push_back(std::move(found));
  }
}

/// Takes the id of the content from the cache, if it has one for the file as it is.
void Walker::identify(FoundFile& found) {
  const auto& entries = in_.cache.entries;
  while (cached_at_ < entries.size() && entries[cached_at_].path < path_) ++cached_at_;
  if (cached_at_ == entries.size() || entries[cached_at_].path != path_) return;
  const FileEntry& cached = entries[cached_at_];
  if (!in_.cache.trusts(cached, found.entry.stat)) return;
  if (found.guarded && !cached.searched) return;
  const bool exists = in_.cache_reachable || (found.tracked && found.tracked->id == cached.id) ||
                      git_odb_exists(in_.odb, &cached.id) == 1;
  if (!exists) return;
  found.entry.id = cached.id;
  found.entry.searched = cached.searched;
  found.known = true;
}

void Walker::keep_link(const TrackedEntry& tracked) {
  FoundFile found;
  found.entry.path = tracked.path;
  found.entry.mode = tracked.mode;
  found.entry.id = tracked.id;
  found.tracked = &tracked;
  found.known = true;
  out_.files.push_back(std::move(found));
}

void Walker::nested_repository(const TrackedEntry* tracked) {
  const Submodule module = look_at_submodule(in_.root / path_);
  if (!module.problem.empty()) leave_out(module.problem);
  if (!module.head) {
    if (tracked) keep_link(*tracked);
    return;
  }
  if (!tracked) {
    leave_out("a repository of its own: its commit is recorded, its files are not");
  }
  FoundFile found;
  found.entry.path = path_.substr(0, path_.size() - 1);
  found.entry.mode = GIT_FILEMODE_COMMIT;
  found.entry.id = *module.head;
  found.tracked = tracked;
  found.known = true;
  out_.files.push_back(std::move(found));
}

}  // namespace

Walked walk_work_tree(const WalkInput& input) { return Walker(input).run(); }

}  // namespace flor::git
