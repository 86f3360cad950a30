// An object store in a directory, which may be on any mounted file system.
#include "base/late_library.h"
#include "base/system_error.h"
#include "file/filesystem.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "remote/objects/object_store.h"
#include "remote/objects/s3/s3_objects.h"
#include "remote/objects/s3/s3_settings.h"

#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <system_error>

namespace flor::remote {
namespace {

namespace fs = std::filesystem;
using store::File;
using store::Filesystem;
using store::sync_directory;

/// Files are written in this subdirectory, and linked to their names when they are durable.
constexpr const char* kUnfinished = ".unfinished";

/// Throws Unreachable for errors that may be temporary for a file server or disk, otherwise Error.
[[noreturn]] void throw_directory_error(const char* what, const fs::path& path, int error) {
  constexpr std::array kPassing = {EIO,          ENOSPC,       EDQUOT,   ESTALE,
                                   ETIMEDOUT,    ENODEV,       ENETDOWN, ENETUNREACH,
                                   EHOSTDOWN,    EHOSTUNREACH, ENOTCONN, ECONNRESET,
                                   ECONNREFUSED, ECONNABORTED, EAGAIN,   EROFS};
  const char* remedy = "";
  if (error == ENOSPC || error == EDQUOT) remedy = ": free some space there";
  if (error == EACCES || error == EPERM) remedy = ": choose a directory you may write to";
  const std::string message = fmt::format("cannot {} {}: {}{}", what, path.string(),
                                          std::generic_category().message(error), remedy);
  if (std::ranges::find(kPassing, error) != kPassing.end()) throw Unreachable(message);
  throw Error(message);
}

/// Returns the result of `call`, which accesses the directory, and converts its exceptions.
template <typename Call>
auto at_directory(const char* what, const fs::path& path, const Call& call) {
  try {
    return call();
  } catch (const store::SystemError& error) {
    throw_directory_error(what, path, error.code());
  }
}

std::int64_t modified_us(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1'000;
}

/// A file in `kUnfinished`. It is locked while its writer lives, and deleted by the destructor.
class Unfinished {
 public:
  explicit Unfinished(const fs::path& directory) {
    // Names are random, because containers that share a directory may have equal process ids.
    thread_local std::mt19937_64 random{std::random_device{}()};
    // Until the file is locked, another process may take it for a leftover and delete it; then it
    // is made again.
    do {
      path_ = directory / fmt::format("{:08x}{:016x}", std::random_device{}(), random());
      file_ = at_directory("create", path_, [&] {
        return std::make_unique<File>(Filesystem::system(), path_, O_RDWR | O_CREAT | O_EXCL,
                                      store::kInHome);
      });
      store::lock_file(file_->descriptor(), LOCK_EX);
    } while (!store::is_linked(file_->descriptor()));
  }
  ~Unfinished() { ::unlink(path_.c_str()); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const fs::path& path() const { return path_; }
  /// True if an earlier attempt to link the file succeeded: over a network, its reply may have been
  /// lost.
  bool is_linked_twice() const {
    const int error = errno;
    struct stat status{};
    const bool twice = ::fstat(file_->descriptor(), &status) == 0 && status.st_nlink == 2;
    errno = error;
    return twice;
  }
  void write(std::span<const std::byte> content) {
    at_directory("write", path_, [&] {
      file_->write_at(content, 0);
      file_->sync_data();
    });
  }

 private:
  fs::path path_;
  std::unique_ptr<File> file_;
};

class DirectoryObjects final : public ObjectStore {
 public:
  explicit DirectoryObjects(fs::path directory)
      : directory_(std::move(directory)), url_("file://" + directory_.string()) {}

  const std::string& url() const override { return url_; }

  bool put_if_absent(const std::string& key, std::span<const std::byte> content) override {
    const fs::path target = path_of(key);
    if (fs::exists(target)) return false;
    prepare(target);
    Unfinished file(directory_ / kUnfinished);
    file.write(content);
    if (::link(file.path().c_str(), target.c_str()) != 0 && !file.is_linked_twice()) {
      if (errno == EEXIST) return false;
      throw_directory_error("create", target, errno);
    }
    sync(target.parent_path());
    return true;
  }

  void put(const std::string& key, std::span<const std::byte> content) override {
    const fs::path target = path_of(key);
    prepare(target);
    Unfinished file(directory_ / kUnfinished);
    file.write(content);
    if (::rename(file.path().c_str(), target.c_str()) != 0) {
      throw_directory_error("create", target, errno);
    }
    sync(target.parent_path());
  }

  bool makes_exclusively() override { return true; }

  std::vector<std::byte> get(const std::string& key, std::uint64_t most) override {
    const auto file = open(key);
    const std::uint64_t size = file->size();
    if (size > most) {
      throw Damaged(
          fmt::format("{} is larger than it may be: spool the run again from where it "
                      "was recorded",
                      file->path().string()));
    }
    return read(*file, 0, size);
  }

  std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                   std::uint64_t size) override {
    const auto file = open(key);
    const std::uint64_t there = file->size();
    // Checked before memory is allocated, because the length may be wrong.
    if (offset > there || size > there - offset) throw_cut_off(*file);
    return read(*file, offset, size);
  }

  std::optional<ObjectInfo> head(const std::string& key) override {
    struct stat status{};
    const fs::path path = path_of(key);
    if (::stat(path.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      throw_directory_error("look at", path, errno);
    }
    return ObjectInfo{key, static_cast<std::uint64_t>(status.st_size), modified_us(status)};
  }

  std::vector<ObjectInfo> list(const std::string& prefix) override {
    std::vector<ObjectInfo> objects;
    std::error_code error;
    fs::recursive_directory_iterator entries(directory_ / prefix, error);
    if (error == std::errc::no_such_file_or_directory) return objects;
    for (const fs::recursive_directory_iterator end; !error && entries != end;
         entries.increment(error)) {
      if (entries->path().filename() == kUnfinished) {
        entries.disable_recursion_pending();
      } else if (!entries->is_directory()) {
        // An object that was removed meanwhile is left out.
        const std::string key = entries->path().lexically_relative(directory_).string();
        if (auto info = head(key)) objects.push_back(std::move(*info));
      }
    }
    if (error) throw_directory_error("list", directory_ / prefix, error.value());
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    return objects;
  }

  void remove(const std::string& key) override {
    const fs::path path = path_of(key);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      throw_directory_error("remove", path, errno);
  }

  std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) override {
    std::int64_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory_ / kUnfinished, error)) {
      const int descriptor =
          store::Filesystem::system().open(entry.path().c_str(), O_RDONLY | O_CLOEXEC, 0);
      if (descriptor < 0) continue;
      struct stat status{};
      if (::fstat(descriptor, &status) == 0 && modified_us(status) <= before_us &&
          store::lock_file(descriptor, LOCK_EX | LOCK_NB)) {
        if (!dry_run) ::unlink(entry.path().c_str());
        ++count;
      }
      ::close(descriptor);
    }
    return count;
  }

 private:
  fs::path path_of(const std::string& key) const { return directory_ / key; }

  static void sync(const fs::path& directory) {
    at_directory("sync", directory, [&] { sync_directory(Filesystem::system(), directory); });
  }

  /// Creates missing directories and makes their names durable, once each. A directory that has
  /// vanished is not created again, because its file system may have been unmounted, and objects
  /// would fill the disk below.
  void prepare(const fs::path& target) {
    const std::lock_guard lock(mutex_);
    std::error_code error;
    if (!prepared_.empty() && !fs::exists(directory_ / kUnfinished, error)) {
      throw Unreachable(
          fmt::format("{} is not there any more: is the disk mounted?", directory_.string()));
    }
    for (const fs::path& directory : {directory_ / kUnfinished, target.parent_path()}) {
      if (prepared_.contains(directory)) continue;
      // The permissions of the directory above decide who may read objects.
      store::make_directory_in_home(directory, error);
      if (error) throw_directory_error("create", directory, error.value());
      for (fs::path above = directory; above != directory_; above = above.parent_path()) {
        sync(above.parent_path());
      }
      prepared_.insert(directory);
    }
  }

  std::unique_ptr<File> open(const std::string& key) const {
    const fs::path path = path_of(key);
    try {
      return std::make_unique<File>(Filesystem::system(), path, O_RDONLY);
    } catch (const store::SystemError& error) {
      if (error.code() != ENOENT && error.code() != ENOTDIR) {
        throw_directory_error("open", path, error.code());
      }
      throw NotFound(fmt::format("there is no {}/{}", url_, key));
    }
  }

  std::vector<std::byte> read(const File& file, std::uint64_t offset, std::uint64_t size) const {
    std::vector<std::byte> content(size);
    const std::uint64_t got =
        at_directory("read", file.path(), [&] { return file.read_at(content, offset); });
    if (got != size) throw_cut_off(file);
    return content;
  }

  [[noreturn]] static void throw_cut_off(const File& file) {
    throw Damaged(fmt::format("{} is cut off: spool the run again from where it was recorded",
                              file.path().string()));
  }

  fs::path directory_;
  std::string url_;
  std::mutex mutex_;
  std::set<fs::path> prepared_;
};

}  // namespace

std::unique_ptr<ObjectStore> open_directory(const std::string& directory) {
  return std::make_unique<DirectoryObjects>(fs::absolute(directory).lexically_normal());
}

std::unique_ptr<ObjectStore> open_objects(std::string_view url) {
  const std::string shown = store::masked(url);
  if (shown != url && !url.starts_with("file://")) {
    throw UsageError(
        fmt::format("{} has credentials, which would be recorded and shown: leave them out of the "
                    "URL, and give them in the environment (AWS_ACCESS_KEY_ID, "
                    "AWS_SECRET_ACCESS_KEY)",
                    shown));
  }
  if (url.starts_with("s3://")) {
#ifdef FLOR_HAS_S3
    const S3Place place = parse_s3_url(url);
    return open_s3(place, find_settings(process_environment(), place.bucket));
#else
    store::throw_left_out("S3", "libcurl4-openssl-dev and libpugixml-dev");
#endif
  }
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile) && url.size() > kFile.size() && url[kFile.size()] == '/') {
    std::string directory(url.substr(kFile.size()));
    while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
    return open_directory(directory);
  }
  throw UsageError(fmt::format(
      "'{}' is no place to spool to: give s3://bucket/prefix or file:///directory", shown));
}

}  // namespace flor::remote
