// Logs that tests write, and what is read from them.
#pragma once

#include "file/filesystem.h"
#include "imports/log_file.h"
#include "support/content.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace flor::cli::imports_test {

/// A file with this content, which lasts as long as the object.
class Written {
 public:
  explicit Written(const std::string& content, const char* name = "log")
      : path_(directory_ / name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  store::File open() const { return {store::Filesystem::system(), path_, O_RDONLY}; }
  LogSource source(LogFormat format) const {
    return {.path = path_, .files = {path_}, .format = format};
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  flor::testing::TemporaryDirectory directory_{flor::testing::fast_parent()};
  std::filesystem::path path_;
};

inline LoggedRun read(const std::string& content, LogFormat format,
                      const LogQuestion& question = {}) {
  return read_log(Written(content).source(format), question);
}
inline LoggedRun csv(const std::string& content, const LogQuestion& question = {}) {
  return read(content, LogFormat::csv, question);
}

inline std::string shown(const store::Scalar& value) {
  return std::visit([](const auto& one) { return fmt::format("{}", one); }, value);
}

/// "NAME EPOCH.STEP=VALUE" of each value.
inline std::vector<std::string> values(const LoggedRun& run) {
  std::vector<std::string> result;
  for (const LoggedSeries& series : run.all_series()) {
    for (std::size_t at = 0; at < series.size(); ++at) {
      const LoggedPlace place = series.place(at);
      result.push_back(fmt::format("{} {}.{}={}", series.name(), place.epoch, place.step,
                                   shown(series.value(at))));
    }
  }
  return result;
}

inline std::string refusal(const std::string& content, LogFormat format,
                           const LogQuestion& question = {}) {
  try {
    (void)read(content, format, question);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace flor::cli::imports_test
