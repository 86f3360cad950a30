#include "file/new_file.h"

#include "file/lock_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace flor::store {

namespace {

/// Makes temporary names unique within this process; the names also contain the process id.
std::atomic<std::uint64_t> files_made{0};

bool is_temporary_of(const std::string& name, const std::string& file) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.starts_with("." + file + ".") || !name.ends_with(kEnd)) return false;
  const std::size_t begin = file.size() + 2;
  if (name.size() <= begin + kEnd.size()) return false;
  const std::string_view middle =
      std::string_view(name).substr(begin, name.size() - begin - kEnd.size());
  return middle.find_first_not_of("0123456789-") == middle.npos;
}

}  // namespace

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error("the file was not written: it is not wanted any more");
}

namespace {

mode_t mode_in(const std::filesystem::path& directory) {
  struct stat status{};
  const mode_t above = ::stat(directory.c_str(), &status) == 0 ? status.st_mode : 0775;
  return (above & 0644) | 0600;
}

}  // namespace

NewFile::NewFile(Filesystem& filesystem, std::filesystem::path path, std::optional<mode_t> mode)
    : filesystem_(filesystem),
      path_(std::move(path)),
      directory_(path_.parent_path()),
      mode_(mode) {
  if (directory_.empty()) directory_ = ".";
  remove_stale();
  create();
}

void NewFile::create() {
  // A writer locks its temporary file, and the kernel releases the lock when the writer dies.
  // Before it is locked, another process may take the file for a leftover and delete it; then it is
  // created again.
  for (struct stat status{}; status.st_nlink == 0;) {
    temporary_ = directory_ /
                 fmt::format(".{}.{}-{}.tmp", path_.filename().string(), ::getpid(), files_made++);
    file_ = std::make_unique<File>(filesystem_, temporary_, O_RDWR | O_CREAT | O_TRUNC,
                                   mode_ ? *mode_ : mode_in(directory_));
    lock_file(file_->descriptor(), LOCK_EX);
    if (::fstat(file_->descriptor(), &status) != 0) {
      throw_system_error("look at", temporary_, errno);
    }
    // The umask may exclude even the user itself.
    if ((status.st_mode & 0600) != 0600) ::fchmod(file_->descriptor(), 0600);
  }
}

void NewFile::remove_stale() const {
  std::error_code ignored;
  const std::string name = path_.filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    if (!is_temporary_of(entry.path().filename().string(), name)) continue;
    const int descriptor = filesystem_.open(entry.path().c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) continue;
    if (lock_file(descriptor, LOCK_EX | LOCK_NB)) filesystem_.unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

NewFile::~NewFile() {
  if (file_) filesystem_.unlink(temporary_.c_str());
}

void NewFile::append(std::span<const std::byte> bytes) {
  file_->write_at(bytes, bytes_);
  bytes_ += bytes.size();
}

void NewFile::finish() {
  file_->sync_data();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw_system_error("create", path_, error.value());
  file_.reset();
  sync_directory(filesystem_, directory_);
}

void write_file(const std::filesystem::path& file, std::span<const std::byte> content) {
  NewFile out(Filesystem::system(), file);
  out.append(content);
  out.finish();
}

void sync_names(Filesystem& filesystem, const std::filesystem::path& directory) {
  sync_directory(filesystem, directory);
  sync_names_above(filesystem, directory);
}

void sync_names_above(Filesystem& filesystem, const std::filesystem::path& directory) {
  for (auto above = std::filesystem::absolute(directory); above != above.parent_path();) {
    above = above.parent_path();
    try {
      sync_directory(filesystem, above);
    } catch (const Error&) {
      // A directory that others may not read can be synced by its owner only.
    }
  }
}

void sync_names_above(const std::filesystem::path& directory) {
  sync_names_above(Filesystem::system(), directory);
}

}  // namespace flor::store
