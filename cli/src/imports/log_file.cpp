#include "imports/log_file.h"

#include "base/digest_stream.h"
#include "file/filesystem.h"
#include "imports/event_reader.h"
#include "imports/json_lines.h"
#include "imports/table_reader.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, LogFormat>, 5> kFormats{
    {{"safetensors", LogFormat::safetensors},
     {"text", LogFormat::text},
     {"csv", LogFormat::csv},
     {"jsonl", LogFormat::jsonl},
     {"tensorboard", LogFormat::tensorboard}}};

constexpr std::array<std::pair<std::string_view, LogFormat>, 6> kEndings{
    {{".safetensors", LogFormat::safetensors},
     {".csv", LogFormat::csv},
     {".tsv", LogFormat::csv},
     {".jsonl", LogFormat::jsonl},
     {".ndjson", LogFormat::jsonl},
     {".json", LogFormat::jsonl}}};

constexpr std::string_view kEventFile = "tfevents";

bool is_named_event_file(const fs::path& path) {
  return path.filename().string().find(kEventFile) != std::string::npos;
}

store::File opened(const fs::path& path) {
  return store::File(store::Filesystem::system(), path, O_RDONLY);
}

void require_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw NotFound(fmt::format("there is no file {}", printable(path.string())));
  }
  if (error || !fs::is_regular_file(status)) {
    throw UsageError(fmt::format("{} is no file that can be imported{}", printable(path.string()),
                                 error ? ": " + error.message() : std::string()));
  }
}

LogFormat format_of(const fs::path& path) {
  if (is_named_event_file(path)) return LogFormat::tensorboard;
  const std::string ending = path.extension().string();
  for (const auto& [known, format] : kEndings) {
    if (ending == known) return format;
  }
  return is_event_file(opened(path)) ? LogFormat::tensorboard : LogFormat::text;
}

/// The event files below a directory, sorted by their paths.
std::vector<fs::path> event_files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(directory, fs::directory_options::skip_permission_denied,
                                           error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code unknown;
    if (!entries->is_regular_file(unknown) || !is_named_event_file(entries->path())) continue;
    files.push_back(entries->path());
  }
  if (error) {
    throw Error(fmt::format("cannot read the directory {}: {}", printable(directory.string()),
                            error.message()));
  }
  if (files.empty()) {
    throw UsageError(
        fmt::format("{} has no event files of TensorBoard, whose names have '{}': name "
                    "the files to import",
                    printable(directory.string()), kEventFile));
  }
  std::ranges::sort(files);
  return files;
}

void add_file(std::vector<LogSource>& sources, const fs::path& path, LogFormat format) {
  if (format == LogFormat::tensorboard) {
    for (LogSource& known : sources) {
      const fs::path& first = known.files.front();
      if (known.format != format || first.parent_path() != path.parent_path()) continue;
      if (std::ranges::find(known.files, path) != known.files.end()) return;
      known.files.push_back(path);
      std::ranges::sort(known.files);  // their names begin with the time
      known.path = path.has_parent_path() ? path.parent_path() : fs::path(".");
      return;
    }
  }
  sources.push_back({.path = path, .files = {path}, .format = format});
}

}  // namespace

std::string_view to_string(LogFormat format) {
  for (const auto& [word, known] : kFormats) {
    if (known == format) return word;
  }
  return "text";
}

LogFormat parse_log_format(std::string_view word) {
  std::vector<std::string> words;
  for (const auto& [known, format] : kFormats) {
    if (word == known) return format;
    words.emplace_back(known);
  }
  const std::string hint = did_you_mean(word, words);
  throw UsageError(
      fmt::format("--format {}{}", printable(word),
                  hint.empty() ? ": use " + fmt::format("{}", fmt::join(words, ", ")) : hint));
}

std::vector<LogSource> find_logs(std::span<const std::string> operands,
                                 std::optional<LogFormat> format) {
  std::vector<LogSource> sources;
  for (const std::string& operand : operands) {
    const fs::path path(operand);
    std::error_code unknown;
    const bool may_be_events = format.value_or(LogFormat::tensorboard) == LogFormat::tensorboard;
    if (may_be_events && fs::is_directory(path, unknown)) {
      for (const fs::path& file : event_files_below(path)) {
        add_file(sources, file, LogFormat::tensorboard);
      }
      continue;
    }
    require_file(path);
    add_file(sources, path, format ? *format : format_of(path));
  }
  return sources;
}

LoggedRun read_log(const LogSource& source, const LogQuestion& question) {
  LoggedRun run;
  const TableColumns columns{.epoch = question.epoch, .step = question.step};
  for (const fs::path& path : source.files) {
    const std::string name = printable(path.string());
    const store::File file = opened(path);
    try {
      switch (source.format) {
        case LogFormat::text:
          read_text(file, question, run);
          break;
        case LogFormat::csv:
          read_csv(file, name, columns, run);
          break;
        case LogFormat::jsonl:
          read_json_lines(file, name, columns, run);
          break;
        case LogFormat::tensorboard:
          if (file.size() > 0 && !is_event_file(file)) {
            throw UsageError("it is no event file of TensorBoard");
          }
          read_events(file, name, run);
          break;
        case LogFormat::safetensors:
          throw UsageError("it is no log");
      }
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", name, error.what()));
    }
  }
  run.settle();
  return run;
}

store::Digest digest_of_log(const LogSource& source) {
  store::DigestStream digest;
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  for (const fs::path& path : source.files) {
    const store::File file = opened(path);
    const std::uint64_t size = file.size();  // it may be growing
    for (std::uint64_t at = 0; at < size;) {
      const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), size - at);
      const std::size_t came = file.read_at(std::span(bytes).first(wanted), at);
      if (came == 0) break;
      digest.add(std::span(bytes).first(came));
      at += came;
    }
  }
  return digest.digest();
}

std::int64_t time_of_change(const LogSource& source) {
  std::int64_t latest = 0;
  for (const fs::path& path : source.files) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) continue;
    latest = std::max(latest, static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000 +
                                  facts.st_mtim.tv_nsec / 1000);
  }
  return latest;
}

}  // namespace flor::cli
