#include "session/used_files.h"

#include "base/notice.h"
#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOutputsMax = 10'000;
/// A program that stands still for longer than that wants to know why.
constexpr double kLongSeconds = 2;

bool is_below(const fs::path& relative) { return !relative.empty() && *relative.begin() != ".."; }

/// The same file by a path without links, but for itself.
fs::path without_links(const fs::path& path) {
  std::error_code error;
  const fs::path directory = fs::weakly_canonical(path.parent_path(), error);
  return error ? path : directory / path.filename();
}

/// Absolute, and without a slash at the end. What ".." means behind a link the disk alone knows.
fs::path place_of(const fs::path& path) {
  const bool goes_up = std::ranges::find(path, fs::path("..")) != path.end();
  std::error_code error;
  const fs::path place = goes_up ? fs::weakly_canonical(fs::absolute(path), error)
                                 : fs::absolute(path).lexically_normal();
  if (error) throw Error(fmt::format("{}: {}", path.string(), error.message()));
  return place.has_filename() || !place.has_relative_path() ? place : place.parent_path();
}

/// "12.3 MB of digest 0123abcd"
std::string text_of(const store::UsedFile& file) {
  return fmt::format("{} of digest {}", store::print_bytes(file.bytes),
                     file.digest.hex().substr(0, 8));
}

/// To what was read of it in the record: in this epoch, or else in any.
std::string difference_of(const store::UsedFile& now, const std::vector<store::UsedFile>& then) {
  std::vector<store::UsedFile> same_place;
  std::ranges::copy_if(then, std::back_inserter(same_place),
                       [&](const auto& file) { return file.epoch == now.epoch; });
  const auto& asked = same_place.empty() ? then : same_place;
  const auto other =
      std::ranges::find_if(asked, [&](const auto& file) { return file.digest != now.digest; });
  if (other == asked.end()) return {};
  const bool both = std::ranges::find(asked, now.digest, &store::UsedFile::digest) != asked.end();
  return both ? fmt::format("{} was read with two contents: {} and {}", now.name, text_of(now),
                            text_of(*other))
              : fmt::format("{} has other content than was recorded: {} then, {} now", now.name,
                            text_of(*other), text_of(now));
}

}  // namespace

UsedFiles::UsedFiles(const fs::path& home, const store::Run& run)
    : repository_(run.start.repository),
      directory_(run.start.directory),
      contents_(home / "contents") {}

void UsedFiles::know(std::vector<store::UsedFile> recorded) {
  for (store::UsedFile& file : recorded) {
    if (file.use == store::FileUse::input) recorded_[file.name].push_back(std::move(file));
  }
}

std::string UsedFiles::name_of(const fs::path& place, bool is_relative) const {
  // The working directory of a replay may be another one than that of the recording.
  const fs::path below = place.lexically_relative(start_);
  const bool moves = is_relative || is_below(below);
  const fs::path then = moves ? (directory_ / below).lexically_normal() : place;
  for (const fs::path& known : {then, without_links(then)}) {
    const fs::path name = known.lexically_relative(repository_);
    if (is_below(name)) return name.generic_string();
  }
  return then.generic_string();
}

store::UsedFile UsedFiles::look(const fs::path& place, std::string name, std::int64_t epoch) {
  const auto began = std::chrono::steady_clock::now();
  const auto [content, was_read] = contents_.read(place);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (was_read && seconds > kLongSeconds) {
    say(Level::result,
        fmt::format("{}: {} read for their digest in {:.1f} s; the store remembers it until "
                    "something in there changes",
                    name, store::print_bytes(content.bytes), seconds));
  }
  store::UsedFile file;
  file.kind = content.is_directory ? store::UsedKind::directory : store::UsedKind::file;
  file.name = std::move(name);
  file.place = place.string();
  file.bytes = content.bytes;
  file.files = content.files;
  file.digest = content.digest;
  file.epoch = epoch;
  return file;
}

std::optional<UsedFiles::Read> UsedFiles::read(const fs::path& path, std::int64_t epoch) {
  std::string name;
  try {
    const fs::path place = place_of(path);
    name = name_of(place, path.is_relative());
    Read read{.file = look(place, name, epoch), .difference = {}};
    const std::lock_guard lock(mutex_);
    read.is_new = read_.emplace(read.file.name, read.file.digest).second;
    const auto recorded = recorded_.find(read.file.name);
    if (recorded != recorded_.end()) {
      read.difference = difference_of(read.file, recorded->second);
    }
    return read;
  } catch (const std::exception& error) {
    say(Level::warn, fmt::format("flor::input: {}; it is not known as an input", error.what()));
    const std::lock_guard lock(mutex_);
    if (!recorded_.contains(name)) return std::nullopt;
    return Read{.file = {},
                .is_new = false,
                .difference = name + ", which the run read, cannot be read now"};
  }
}

void UsedFiles::write(const fs::path& path, std::int64_t epoch) {
  const fs::path place = place_of(path);
  const std::lock_guard lock(mutex_);
  const std::string name = name_of(place, path.is_relative());
  if (written_.size() == kOutputsMax) return;
  const bool is_new = written_.try_emplace(name, Output{place, epoch}).second;
  if (!is_new || written_.size() < kOutputsMax) return;
  say(Level::warn,
      fmt::format("flor::output: {} outputs; more are not known as outputs of the run: "
                  "name their directory instead",
                  kOutputsMax));
}

std::vector<store::UsedFile> UsedFiles::written() {
  std::map<std::string, Output> outputs;
  {
    const std::lock_guard lock(mutex_);
    outputs = written_;
  }
  std::vector<store::UsedFile> files;
  for (const auto& [name, output] : outputs) {
    std::error_code error;
    if (!fs::exists(output.place, error)) continue;  // it was never written, or was removed again
    try {
      files.push_back(look(output.place, name, output.epoch));
      files.back().use = store::FileUse::output;
    } catch (const std::exception& failure) {
      say(Level::warn,
          fmt::format("flor::output: {}; it is not known as an output", failure.what()));
    }
  }
  return files;
}

std::int64_t epoch_of(Journal& journal) {
  std::int64_t epoch = -1;
  journal.move([&](const CurrentPlace& place) { epoch = place.epoch; });
  return epoch;
}

RecordedFiles::RecordedFiles(const fs::path& home, const store::Run& run, Journal& journal,
                             Enter enter)
    : run_(run), journal_(journal), enter_(std::move(enter)), files_(home, run) {}

void RecordedFiles::input(const fs::path& path) {
  const auto read = files_.read(path, epoch_of(journal_));
  if (!read || !read->is_new) return;
  if (!read->difference.empty()) {
    say(Level::warn, fmt::format("{}: run {} goes on with what is there now", read->difference,
                                 run_.key.substr(0, 8)));
  }
  enter_(read->file);
}

fs::path RecordedFiles::output(const fs::path& path) {
  files_.write(path, epoch_of(journal_));
  return path;
}

void RecordedFiles::loaded(const std::string& reference, const store::Digest& digest,
                           std::uint64_t bytes) {
  store::UsedFile file;
  file.kind = store::UsedKind::checkpoint;
  file.name = reference;
  file.bytes = bytes;
  file.files = 1;
  file.digest = digest;
  file.epoch = epoch_of(journal_);
  file.source = reference.substr(0, reference.find('@'));
  if (file.source != run_.key) enter_(file);
}

void RecordedFiles::asked(const store::UsedFile& answer, const std::vector<std::string>& runs) {
  if (runs.empty()) return enter_(answer);
  for (const std::string& run : runs) {
    store::UsedFile file = answer;
    file.source = run;
    enter_(file);
  }
}

}  // namespace flor::detail
