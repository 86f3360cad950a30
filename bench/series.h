// Shared by the benchmarks that read the output of make_series: the tensors of each checkpoint of a
// series, a store that holds them, and clocks.
#pragma once

#include <flor/store/checkpoint.h>
#include <flor/store/store.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flor::bench {

using Bytes = std::vector<std::byte>;

struct Tensor {
  std::string name;
  store::ElementType type;
  std::size_t bytes;
};

/// A series of checkpoints: one directory of make_series's output.
struct Series {
  std::string name;
  std::vector<Tensor> tensors;               ///< in the order in which a file holds them
  std::vector<std::filesystem::path> files;  ///< one for each checkpoint, in order

  std::size_t state_bytes() const;
};

/// Throws std::runtime_error if the directory is not the output of make_series.
Series read_series(const std::filesystem::path& directory);
/// The named series in `directory`; all of them, sorted, if there are no names.
std::vector<Series> find_series(const std::filesystem::path& directory,
                                std::span<const std::string> names);

Bytes read_file(const std::filesystem::path& path);

/// Seconds of this thread's processor time, of the process's processor time, and of wall clock
/// time.
double thread_seconds();
double process_seconds();
double wall_seconds();

double median(std::vector<double> values);

/// A directory in $TMPDIR or /tmp that the destructor removes with all its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A store into which a series was recorded as the runtime does it, one boundary for each
/// checkpoint.
class RecordedSeries {
 public:
  RecordedSeries(const Series& series, const std::filesystem::path& home);

  store::Store& store() { return *store_; }
  const std::vector<store::CheckpointInfo>& checkpoints() const { return checkpoints_; }
  const std::string& run_key() const { return key_; }
  /// Processor time of all threads that encoding and writing took.
  double seconds() const { return seconds_; }
  /// Bytes of all packs, including headers.
  std::uint64_t pack_bytes() const;
  std::vector<std::filesystem::path> packs() const;

 private:
  std::shared_ptr<store::Store> store_;
  std::vector<store::CheckpointInfo> checkpoints_;
  std::string key_;
  double seconds_ = 0;
};

}  // namespace flor::bench
