#include "watch/evaluators/complete_files.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

class OpenFile {
 public:
  explicit OpenFile(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

Wholeness examine_file(const fs::path& path) {
  const OpenFile file(path);
  struct stat status{};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0 || status.st_size == 0) {
    return Wholeness::partial;
  }
  std::array<std::byte, 8> head;
  const ssize_t got = ::pread(file.descriptor(), head.data(), head.size(), 0);
  if (got <= 0) return Wholeness::partial;
  const std::string extension = lower_extension(path);
  for (const FileForm& form : file_forms()) {
    if (form.is_of(std::span(head).first(static_cast<std::size_t>(got)), extension)) {
      return form.examine(file.descriptor(), static_cast<std::uint64_t>(status.st_size));
    }
  }
  return Wholeness::unknown;
}

/// The regular files below a directory, sorted; nullopt if something disappears during the walk.
std::optional<std::vector<fs::path>> files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->is_regular_file(error)) files.push_back(walk->path());
    if (error) break;
  }
  if (error) return std::nullopt;
  std::ranges::sort(files);
  return files;
}

bool is_temporary(const fs::path& file) {
  constexpr std::array<std::string_view, 6> kExtensions{".tmp",     ".temp",       ".part",
                                                        ".partial", ".incomplete", ".crdownload"};
  return std::ranges::find(kExtensions, lower_extension(file)) != kExtensions.end();
}

/// The files that an index names; nullopt if it cannot be parsed, as if it were not written yet.
std::optional<std::set<std::string>> shards(const fs::path& index) {
  std::ifstream in(index, std::ios::binary);
  const auto index_json = nlohmann::json::parse(in, nullptr, false);
  if (!index_json.is_object() || !index_json.contains("weight_map") ||
      !index_json["weight_map"].is_object()) {
    return std::nullopt;
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : index_json["weight_map"].items()) {
    if (file.is_string()) names.insert(file.get<std::string>());
  }
  return names;
}

bool is_index(const fs::path& file) { return file.filename().string().ends_with(".index.json"); }

/// `whole` if every file that the index names is whole, else `partial`.
Wholeness examine_index(const fs::path& index) {
  const auto names = shards(index);
  if (!names) return Wholeness::partial;
  const bool all = std::ranges::all_of(*names, [&](const std::string& name) {
    return examine_file(index.parent_path() / name) == Wholeness::whole;
  });
  return all ? Wholeness::whole : Wholeness::partial;
}

bool is_marker(const std::string& name, const std::string& wanted) {
  if (!wanted.empty()) return name == wanted;
  return std::ranges::find(directory_markers(), name) != directory_markers().end();
}

Wholeness examine_directory(const fs::path& directory, const std::string& marker) {
  const auto files = files_below(directory);
  if (!files || files->empty()) return Wholeness::partial;
  bool marked = false, indexed = false;
  for (const fs::path& file : *files) {
    if (is_temporary(file)) return Wholeness::partial;
    if (is_marker(file.filename().string(), marker)) {
      marked = true;
      continue;  // a marker file may be empty
    }
    if (is_index(file)) {
      if (examine_index(file) != Wholeness::whole) return Wholeness::partial;
      indexed = true;
    } else if (fs::file_size(file) > 0 && examine_file(file) == Wholeness::partial) {
      return Wholeness::partial;
    }
  }
  if (marked) return Wholeness::whole;
  if (!marker.empty()) return Wholeness::partial;
  return indexed ? Wholeness::whole : Wholeness::unknown;
}

/// Whether another process has the file open for writing: then the kernel refuses a read lease. The
/// lease is released at once, because a process that opens the file for writing would have to wait
/// for that.
bool has_writer(const fs::path& path) {
  const OpenFile file(path);
  if (file.descriptor() < 0) return false;
  if (::fcntl(file.descriptor(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(file.descriptor(), F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN;
}

std::int64_t modified_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

store::FileIdentity identity(const struct stat& status) {
  return {.device = static_cast<std::int64_t>(status.st_dev),
          .inode = static_cast<std::int64_t>(status.st_ino),
          .bytes = static_cast<std::int64_t>(status.st_size),
          .modified_ns = modified_ns(status)};
}

}  // namespace

std::span<const char* const> directory_markers() {
  // Names used by PyTorch's distributed checkpoints, Orbax, Hadoop's tools, and by users.
  static constexpr const char* kMarkers[] = {".metadata",          "_CHECKPOINT_METADATA",
                                             "commit_success.txt", "_SUCCESS",
                                             ".complete",          "COMPLETE"};
  return kMarkers;
}

Wholeness examine(const fs::path& path, const std::string& marker) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return examine_file(path);
  try {
    return examine_directory(path, marker);
  } catch (const fs::filesystem_error&) {
    return Wholeness::partial;  // something disappeared during the walk
  }
}

bool is_being_written(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return has_writer(path);
  const auto files = files_below(path);
  return !files || std::ranges::any_of(*files, has_writer);
}

std::optional<store::FileIdentity> identify(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  store::FileIdentity result = identity(status);
  if (!S_ISDIR(status.st_mode)) return result;
  const auto files = files_below(path);
  if (!files) return std::nullopt;
  result.bytes = 0;
  for (const fs::path& file : *files) {
    if (::stat(file.c_str(), &status) != 0) return std::nullopt;
    result.bytes += status.st_size;
    result.modified_ns = std::max(result.modified_ns, modified_ns(status));
  }
  return result;
}

std::optional<store::Digest> content_digest(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return store::Digest::from_hex(store::file_digest(path));
  const auto files = files_below(path);
  if (!files) return std::nullopt;
  std::string text;
  for (const fs::path& file : *files) {
    const std::string digest = store::file_digest(file);
    if (digest.empty()) return std::nullopt;
    text += file.lexically_relative(path).string() + '\0' + digest + '\n';
  }
  return store::digest_of(std::as_bytes(std::span(text)));
}

}  // namespace flor::cli
