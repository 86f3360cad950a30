#include "git/tree/content.h"

#include "git/secret_files.h"
#include "git/tree/filters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <git2/sys/repository.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace flor::git {
namespace {

/// Larger files are streamed into the database, unless a filter converts them.
constexpr std::uint64_t kStreamedSize = 32u << 20;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

StoredContent problem(std::string text) {
  StoredContent result;
  result.problem = std::move(text);
  return result;
}

StoredContent from_errno() {
  StoredContent result;
  result.vanished = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
  result.problem = fmt::format("cannot be read: {}", std::strerror(errno));
  return result;
}

bool read_all(int file, std::uint64_t expected, std::string& content) {
  content.resize(static_cast<std::size_t>(expected) + 1);
  std::size_t have = 0;
  for (;;) {
    if (have == content.size()) content.resize(content.size() * 2);
    const ssize_t n = ::read(file, content.data() + have, content.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  content.resize(have);
  return true;
}

}  // namespace

ContentWriter::ContentWriter(git_repository* repository, std::filesystem::path root,
                             const IndexFile& index)
    : repository_(repository), root_(std::move(root)) {
  git_odb* odb = nullptr;
  check(git_repository_odb(&odb, repository), "cannot open the object database");
  odb_.reset(odb);
  git_config* config = nullptr;
  check(git_repository_config_snapshot(&config, repository), "cannot read the git configuration");
  config_.reset(config);
  // libgit2's filters read the index of the repository. They get one in memory with only the
  // entries they may need, since libgit2 may not be able to read the form of the real one.
  git_index* memory = nullptr;
  check(git_index_new(&memory), "cannot make an index");
  index_.reset(memory);
  check(git_repository_set_index(repository, memory), "cannot set an index");
  for (const TrackedEntry& entry : index.entries) {
    if (entry.path == ".gitattributes" || entry.path.ends_with("/.gitattributes")) know(entry);
  }
}

void ContentWriter::know(const TrackedEntry& tracked) {
  if (tracked.conflicted) return;
  git_index_entry entry{};
  entry.mode = tracked.mode;
  entry.id = tracked.id;
  entry.path = tracked.path.c_str();
  // An object may be missing, as in a partial clone. That is no failure: the entry is only a hint.
  git_index_add(index_.get(), &entry);
}

StoredContent ContentWriter::store(const FileEntry& entry, const TrackedEntry* tracked,
                                   bool guarded) {
  return S_ISLNK(entry.stat.mode) ? store_link(entry.path) : store_file(entry, tracked, guarded);
}

StoredContent ContentWriter::store_link(const std::string& path) {
  std::array<char, 65536> target;
  const ssize_t size = ::readlink((root_ / path).c_str(), target.data(), target.size());
  if (size < 0) return from_errno();
  StoredContent result;
  check(git_odb_write(&result.id, odb_.get(), target.data(), static_cast<std::size_t>(size),
                      GIT_OBJECT_BLOB),
        "cannot write to the object database");
  result.stored = true;
  return result;
}

StoredContent ContentWriter::store_file(const FileEntry& entry, const TrackedEntry* tracked,
                                        bool guarded) {
  const Descriptor file(
      ::open((root_ / entry.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) return from_errno();
  struct stat before{}, after{};
  if (::fstat(file.get(), &before) != 0) return from_errno();
  if (!S_ISREG(before.st_mode)) return problem("no longer a file");
  const bool converted = entry.mode != GIT_FILEMODE_LINK;
  const Attributes attributes = converted ? this->attributes(entry.path) : Attributes{};
  if (tracked) know(*tracked);

  StoredContent result;
  std::string content;
  bool cleaned = false;
  if (!attributes.filter.empty() &&
      !clean(entry, attributes.filter, file.get(), content, cleaned, result)) {
    return result;
  }
  git_filter_list* filters = nullptr;
  if (converted) {
    check(git_filter_list_load(&filters, repository_, nullptr, entry.path.c_str(),
                               GIT_FILTER_TO_ODB, GIT_FILTER_ALLOW_UNSAFE),
          "cannot read .gitattributes");
  }
  const FilterListHandle list(filters);
  const auto size = static_cast<std::uint64_t>(before.st_size);
  if (!filters && !cleaned && attributes.encoding.empty() && size > kStreamedSize) {
    result = store_large(file.get(), size, guarded ? &entry.path : nullptr);
  } else {
    if (!cleaned && !read_all(file.get(), size, content)) return from_errno();
    if (!attributes.encoding.empty()) {
      auto text = to_utf8(content, attributes.encoding);
      if (!text) return problem("not in its working-tree-encoding " + attributes.encoding);
      content = std::move(*text);
    }
    Buffer out;
    std::string_view bytes = content;
    if (filters) {
      check(git_filter_list_apply_to_buffer(out.get(), filters, content.data(), content.size()),
            "cannot convert " + printable(entry.path));
      bytes = out.view();
    }
    if (guarded) result.secret = secret_in(entry.path, bytes);
    if (!result.secret.empty()) return result;
    check(git_odb_write(&result.id, odb_.get(), bytes.data(), bytes.size(), GIT_OBJECT_BLOB),
          "cannot write to the object database");
    result.stored = true;
  }
  result.settled = ::fstat(file.get(), &after) == 0 && FileStat::of(after) == entry.stat;
  return result;
}

/// Streams a large file. Searches for secrets in pieces that overlap by more than the length of a
/// key.
StoredContent ContentWriter::store_large(int file, std::uint64_t size,
                                         const std::string* guarded) {
  constexpr std::size_t kOverlap = 16 << 10;
  git_odb_stream* raw = nullptr;
  check(
      git_odb_open_wstream(&raw, odb_.get(), static_cast<git_object_size_t>(size), GIT_OBJECT_BLOB),
      "cannot write to the object database");
  const Handle<git_odb_stream, git_odb_stream_free> stream(raw);
  std::vector<char> part(1u << 20);
  std::string piece;
  std::uint64_t left = size;
  while (left > 0) {
    const std::size_t want = std::min<std::uint64_t>(left, part.size());
    const ssize_t n = ::read(file, part.data(), want);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return from_errno();
    if (n == 0) return problem("became shorter while it was read");
    check(git_odb_stream_write(raw, part.data(), static_cast<std::size_t>(n)),
          "cannot write to the object database");
    left -= static_cast<std::uint64_t>(n);
    if (!guarded) continue;
    piece.erase(0, piece.size() - std::min(piece.size(), kOverlap));
    piece.append(part.data(), static_cast<std::size_t>(n));
    StoredContent found;
    found.secret = secret_in(*guarded, piece);
    if (!found.secret.empty()) return found;
  }
  StoredContent result;
  check(git_odb_stream_finalize_write(&result.id, raw), "cannot write to the object database");
  result.stored = true;
  return result;
}

ContentWriter::Attributes ContentWriter::attributes(const std::string& path) {
  std::array<const char*, 2> names = {"filter", "working-tree-encoding"};
  std::array<const char*, 2> values{};
  check(git_attr_get_many(values.data(), repository_, GIT_ATTR_CHECK_FILE_THEN_INDEX, path.c_str(),
                          names.size(), names.data()),
        "cannot read .gitattributes");
  Attributes found;
  if (git_attr_value(values[0]) == GIT_ATTR_VALUE_STRING) found.filter = values[0];
  if (git_attr_value(values[1]) == GIT_ATTR_VALUE_STRING) found.encoding = values[1];
  if (found.encoding == "UTF-8" || found.encoding == "utf-8") found.encoding.clear();
  return found;
}

std::string ContentWriter::config(const std::string& name) {
  const char* value = nullptr;
  if (git_config_get_string(&value, config_.get(), name.c_str()) != 0) return {};
  return value;
}

bool ContentWriter::clean(const FileEntry& entry, const std::string& driver, int file,
                          std::string& content, bool& cleaned, StoredContent& result) {
  const std::string command = config("filter." + driver + ".clean");
  int required = 0;
  if (git_config_get_bool(&required, config_.get(), ("filter." + driver + ".required").c_str())) {
    required = 0;
  }
  if (command.empty()) {
    if (config("filter." + driver + ".process").empty() && !required) return true;
    result = problem(fmt::format("its filter '{}' has no clean command", printable(driver)));
    return false;
  }
  auto out = run_clean_command(command, root_, entry.path, file);
  if (out) {
    content = std::move(*out);
    cleaned = true;
  } else if (required) {
    result = problem(fmt::format("its filter '{}' failed", printable(driver)));
    return false;
  } else {
    ::lseek(file, 0, SEEK_SET);  // without the filter the content is stored as it is, as git does
  }
  return true;
}

}  // namespace flor::git
