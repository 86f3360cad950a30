#include "series.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace flor::bench {
namespace {

namespace fs = std::filesystem;

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<Tensor> read_layout(const fs::path& path) {
  std::vector<Tensor> layout;
  std::ifstream file(path);
  std::string name;
  std::string type;
  std::size_t bytes = 0;
  while (file >> name >> type >> bytes) {
    layout.push_back(
        {name, type == "bf16" ? store::ElementType::bf16 : store::ElementType::f32, bytes});
  }
  if (layout.empty()) throw std::runtime_error("no layout in " + path.string());
  return layout;
}

/// A snapshot of a checkpoint in `file`. Unchanged content is shared with the snapshot before, as
/// in the runtime.
store::Snapshot snapshot_of(const Series& series, const Bytes& file, const store::Snapshot& last) {
  store::Snapshot snapshot;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < series.tensors.size(); ++i) {
    const Tensor& tensor = series.tensors[i];
    const std::byte* begin = file.data() + offset;
    offset += tensor.bytes;
    store::SnapshotItem& item = snapshot.items.emplace_back();
    item.item = {tensor.name,
                 tensor.type,
                 {static_cast<std::int64_t>(tensor.bytes / store::element_size(tensor.type))},
                 tensor.bytes};
    if (!last.items.empty() && std::memcmp(last.items[i].content.get(), begin, tensor.bytes) == 0) {
      item.content = last.items[i].content;
      continue;
    }
    const auto memory = std::make_shared<Bytes>(begin, begin + tensor.bytes);
    item.content = store::Content(memory, memory->data());
  }
  return snapshot;
}

}  // namespace

std::size_t Series::state_bytes() const {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

Series read_series(const fs::path& directory) {
  Series series{directory.filename().string(), read_layout(directory / "layout"), {}};
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".raw") series.files.push_back(entry.path());
  }
  std::sort(series.files.begin(), series.files.end());
  if (series.files.empty()) throw std::runtime_error("no checkpoints in " + directory.string());
  return series;
}

std::vector<Series> find_series(const fs::path& directory, std::span<const std::string> names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) paths.push_back(directory / name);
  if (paths.empty()) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (fs::exists(entry.path() / "layout")) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
  }
  std::vector<Series> all;
  for (const fs::path& path : paths) all.push_back(read_series(path));
  return all;
}

Bytes read_file(const fs::path& path) {
  Bytes content(fs::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return content;
}

double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double process_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = fs::temp_directory_path() / "flor-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

RecordedSeries::RecordedSeries(const Series& series, const fs::path& home)
    : store_(store::Store::open(home, store::OpenMode::create)) {
  store::NewRun run;
  run.experiment = series.name;
  const store::Run created = store_->catalog().add_run(run);
  key_ = created.key;
  store::CheckpointWriter writer(*store_, created.id);
  store::Snapshot last;
  std::int64_t iteration = 0;
  for (const fs::path& file : series.files) {
    store::Snapshot snapshot = snapshot_of(series, read_file(file), last);
    const double begin = process_seconds();
    checkpoints_.push_back(
        writer.write({store::CheckpointKind::boundary, 0, iteration++, ""}, snapshot));
    seconds_ += process_seconds() - begin;
    last = std::move(snapshot);
  }
}

std::vector<fs::path> RecordedSeries::packs() const {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(store_->home() / "packs")) {
    paths.push_back(entry.path());
  }
  return paths;
}

std::uint64_t RecordedSeries::pack_bytes() const {
  std::uint64_t bytes = 0;
  for (const fs::path& path : packs()) bytes += fs::file_size(path);
  return bytes;
}

}  // namespace flor::bench
