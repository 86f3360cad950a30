// The series of checkpoints that make_series left, for the benchmarks that read them: the tensors
// of each checkpoint, a store that holds them, and clocks.
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

/// One directory of make_series's output.
struct Series {
  std::string name;
  std::vector<Tensor> tensors;               ///< in the order in which they lie in a file
  std::vector<std::filesystem::path> files;  ///< one a checkpoint, in order

  std::size_t state_bytes() const;
};

/// Throws std::runtime_error where the directory is not what make_series writes.
Series read_series(const std::filesystem::path& directory);
/// The named series of `directory`, or all of them, sorted.
std::vector<Series> find_series(const std::filesystem::path& directory,
                                std::span<const std::string> names);

Bytes read_file(const std::filesystem::path& path);

/// Seconds: of this thread's processor time, of the whole process's, and of the clock on the wall.
double thread_seconds();
double process_seconds();
double wall_seconds();

double median(std::vector<double> values);

/// A directory that is removed with everything in it. Lies in $TMPDIR, or /tmp.
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

/// A store into which a series was recorded, a boundary a checkpoint, as the runtime does it.
class RecordedSeries {
 public:
  RecordedSeries(const Series& series, const std::filesystem::path& home);

  store::Store& store() { return *store_; }
  const std::vector<store::CheckpointInfo>& checkpoints() const { return checkpoints_; }
  const std::string& run_key() const { return key_; }
  /// Processor time that encoding and writing took, all threads.
  double seconds() const { return seconds_; }
  /// Size of all packs, headers included.
  std::uint64_t pack_bytes() const;
  std::vector<std::filesystem::path> packs() const;

 private:
  std::shared_ptr<store::Store> store_;
  std::vector<store::CheckpointInfo> checkpoints_;
  std::string key_;
  double seconds_ = 0;
};

}  // namespace flor::bench
