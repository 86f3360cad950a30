#include "file/filesystem.h"
#include "file/home_files.h"
#include "file/line_log.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <string_view>

namespace flor::store {
namespace {

constexpr std::size_t kSeal = 17;  // length of the digits and the space at the beginning of a line

std::string seal(std::string_view text, std::uint64_t number) {
  return fmt::format("{:016x} ", XXH3_64bits_withSeed(text.data(), text.size(), number));
}

}  // namespace

LineLogWriter::LineLogWriter(std::filesystem::path path, bool create) : path_(std::move(path)) {
  LineLogReader reader(path_);
  if (!create) {
    reader.read();
    lines_ = reader.lines();
  }
  descriptor_ = open_in_home(path_, O_WRONLY | (create ? O_CREAT | O_EXCL : 0));
  if (descriptor_ < 0) throw_system_error(create ? "create" : "open", path_, errno);
  if (::ftruncate(descriptor_, static_cast<off_t>(reader.offset())) != 0 ||
      ::lseek(descriptor_, 0, SEEK_END) < 0) {
    const int error = errno;
    ::close(descriptor_);
    throw_system_error("write", path_, error);
  }
}

LineLogWriter::~LineLogWriter() { ::close(descriptor_); }

void LineLogWriter::append(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += seal(line, lines_++) + line + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) throw_system_error("write", path_, errno);
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
  while (::fdatasync(descriptor_) != 0) {
    if (errno != EINTR) throw_system_error("sync", path_, errno);
  }
}

std::vector<std::string> LineLogReader::read() {
  const int descriptor = Filesystem::system().open(path_.c_str(), O_RDONLY | O_CLOEXEC, 0);
  gone_ = descriptor < 0;
  if (gone_) return {};
  std::string text;
  struct stat status{};
  if (::fstat(descriptor, &status) == 0 && static_cast<std::uint64_t>(status.st_size) > offset_) {
    text.resize(static_cast<std::size_t>(status.st_size) - offset_);
    std::size_t got = 0;
    while (got < text.size()) {
      const ssize_t count = ::pread(descriptor, text.data() + got, text.size() - got,
                                    static_cast<off_t>(offset_ + got));
      if (count > 0) {
        got += static_cast<std::size_t>(count);
      } else if (count == 0 || errno != EINTR) {
        break;
      }
    }
    text.resize(got);
  }
  ::close(descriptor);
  std::vector<std::string> lines;
  std::string_view rest = text;
  torn_ = false;
  for (std::size_t end; (end = rest.find('\n')) != rest.npos;) {
    const std::string_view line = rest.substr(0, end);
    torn_ = line.size() < kSeal || line.substr(0, kSeal) != seal(line.substr(kSeal), lines_);
    if (torn_) break;
    lines.emplace_back(line.substr(kSeal));
    rest.remove_prefix(end + 1);
    offset_ += end + 1;
    ++lines_;
  }
  torn_ = torn_ || !rest.empty();
  return lines;
}

}  // namespace flor::store
