#include "new_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

namespace flor::store {

NewFile::NewFile(Filesystem& filesystem, std::filesystem::path path)
    : filesystem_(filesystem),
      path_(std::move(path)),
      temporary_(fmt::format("{}.{}.tmp", path_.string(), ::getpid())),
      file_(std::make_unique<File>(filesystem, temporary_, O_RDWR | O_CREAT | O_TRUNC)) {}

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
  const auto directory = path_.parent_path();
  sync_directory(filesystem_, directory.empty() ? "." : directory);
}

}  // namespace flor::store
