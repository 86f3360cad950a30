#include "output/output_file.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace flor::cli {
namespace {

std::filesystem::path temporary_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return {};
  // If the path is a symbolic link, its target is replaced and the link stays.
  const auto target = std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))
                          ? std::filesystem::weakly_canonical(path, error)
                          : path;
  return target.parent_path() / fmt::format(".{}.{}", target.filename().string(), ::getpid());
}

int opened(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(temporary_of(path_)),
      descriptor_(opened(temporary_.empty() ? path_ : temporary_)),
      out_(descriptor_) {
  if (descriptor_ >= 0) return;
  const int error = errno;
  temporary_.clear();
  fail(error);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::finish() {
  out_.flush();
  const int closed = ::close(descriptor_);
  const int error = errno;
  descriptor_ = -1;
  if (closed != 0) fail(error);
  if (temporary_.empty()) return;
  std::error_code unknown;
  const auto target = std::filesystem::is_symlink(path_, unknown)
                          ? std::filesystem::weakly_canonical(path_, unknown)
                          : path_;
  if (::rename(temporary_.c_str(), target.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw Error(fmt::format("cannot write {}: {}", printable(path_.string()), std::strerror(error)));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.out().write(content);
  file.finish();
}

}  // namespace flor::cli
