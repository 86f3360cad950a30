// Fuzz target of event files of TensorBoard. Input: the file; if its first byte is 0xFF, what
// follows are messages, each after a byte with its length, which get their frames.
#include "export/crc32c.h"
#include "file/filesystem.h"
#include "imports/event_reader.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace flor::fuzz::tfevents_target {
namespace {

/// The same descriptor for ever: a file in memory that has a path.
int memory_file() {
  static const int descriptor = ::memfd_create("fuzz.tfevents", 0);
  if (descriptor < 0) std::abort();
  return descriptor;
}

void add(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
}

std::string framed(std::string_view rest) {
  std::string file;
  while (!rest.empty()) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(rest[0]), rest.size() - 1);
    const std::string_view message = rest.substr(1, length);
    const std::size_t head = file.size();
    add(file, length, 8);
    add(file, cli::masked_crc32c(std::string_view(file).substr(head)), 4);
    file += message;
    add(file, cli::masked_crc32c(message), 4);
    rest.remove_prefix(1 + length);
  }
  return file;
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  std::string content(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == 0xFF) content = framed(std::string_view(content).substr(1));
  const int descriptor = memory_file();
  if (::ftruncate(descriptor, 0) != 0) std::abort();
  if (::pwrite(descriptor, content.data(), content.size(), 0) !=
      static_cast<ssize_t>(content.size())) {
    std::abort();
  }
  try {
    const store::File file(store::Filesystem::system(),
                           "/proc/self/fd/" + std::to_string(descriptor), O_RDONLY);
    cli::LoggedRun run;
    cli::read_events(file, "file", run);
    run.settle();
    // A scalar takes more than a byte.
    if (run.values() > content.size()) std::abort();
    for (const cli::LoggedSeries& series : run.all_series()) {
      for (std::size_t at = 0; at < series.size(); ++at) {
        const cli::LoggedPlace place = series.place(at);
        if (place.step < -1 || place.step > cli::kLoggedStepMax) std::abort();
        (void)series.value(at);
      }
    }
  } catch (const flor::Error&) {
    return 0;
  }
  return 0;
}

}  // namespace flor::fuzz::tfevents_target
