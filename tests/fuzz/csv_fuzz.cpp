// Fuzz target of logs that are tables. Input: a byte that is even for CSV and odd for JSON lines,
// then the file.
#include "file/filesystem.h"
#include "imports/json_lines.h"
#include "imports/table_reader.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace flor::fuzz::csv_target {
namespace {

/// The same descriptor for ever: a file in memory that has a path.
int memory_file() {
  static const int descriptor = ::memfd_create("fuzz.csv", 0);
  if (descriptor < 0) std::abort();
  return descriptor;
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int descriptor = memory_file();
  if (::ftruncate(descriptor, 0) != 0) std::abort();
  if (::pwrite(descriptor, data + 1, size - 1, 0) != static_cast<ssize_t>(size - 1)) std::abort();
  try {
    const store::File file(store::Filesystem::system(),
                           "/proc/self/fd/" + std::to_string(descriptor), O_RDONLY);
    cli::LoggedRun run;
    if (data[0] % 2 == 0) {
      cli::read_csv(file, "file", {}, run);
    } else {
      cli::read_json_lines(file, "file", {}, run);
    }
    run.settle();
    // A cell takes at least a byte, and has a place that a run can have.
    if (run.values() > size) std::abort();
    for (const cli::LoggedSeries& series : run.all_series()) {
      for (std::size_t at = 0; at < series.size(); ++at) {
        const cli::LoggedPlace place = series.place(at);
        if (place.epoch < -1 || place.epoch > cli::kLoggedEpochMax || place.step < -1 ||
            place.step > cli::kLoggedStepMax || (place.step >= 0 && place.epoch < 0)) {
          std::abort();
        }
      }
    }
  } catch (const flor::Error&) {
    return 0;
  }
  return 0;
}

}  // namespace flor::fuzz::csv_target
