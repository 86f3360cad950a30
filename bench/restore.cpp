// Measures how fast checkpoints are restored, verified, into memory that was touched before. Prints
// the ratios to a memcpy of the state, to reading the raw file, and to plainly reading the same
// bytes of the pack, all measured in turns. Usage: restore [-r ROUNDS] DIRECTORY [SERIES...], where
// DIRECTORY is the output of make_series.
//
// `full` is the last checkpoint, alone in its store and therefore without differences. `series` is
// the mean over all checkpoints of a store that recorded them one after the other. Opening the
// checkpoint in the catalog is included. Cold: the pages of the file, but not of the catalog, are
// dropped from the cache (POSIX_FADV_DONTNEED) before each read. Each figure is the median, over
// the rounds, of the ratio within a round.
#include "series.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
using flor::bench::Bytes;
using flor::bench::RecordedSeries;
using flor::bench::Series;
using flor::bench::wall_seconds;
using flor::store::CheckpointReader;
using flor::store::Destination;

void drop_from_cache(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("cannot open " + path.string());
  ::fdatasync(file);  // dirty pages would stay in the cache
  const int error = ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
  if (error != 0) throw std::runtime_error("cannot drop the pages of " + path.string());
}

/// Reads a whole file into `out`, starting again at its beginning if the file is longer. Returns
/// seconds.
double read_plainly(const fs::path& path, Bytes& out) {
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  const double begin = wall_seconds();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  off_t offset = 0;
  std::size_t at = 0;
  for (;;) {
    if (at + kBlock > out.size()) at = 0;
    const ssize_t got = ::pread(file, out.data() + at, std::min(kBlock, out.size() - at), offset);
    if (got < 0) throw std::runtime_error("cannot read " + path.string());
    if (got == 0) break;
    offset += got;
    at += static_cast<std::size_t>(got);
  }
  ::close(file);
  return wall_seconds() - begin;
}

/// The memory of a state, divided into its tensors.
class State {
 public:
  explicit State(const Series& series) : memory_(series.state_bytes(), std::byte{1}) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < series.tensors.size(); ++i) {
      destinations_.push_back({i, std::span(memory_).subspan(offset, series.tensors[i].bytes)});
      offset += series.tensors[i].bytes;
    }
  }
  const std::vector<Destination>& destinations() const { return destinations_; }
  Bytes& memory() { return memory_; }

 private:
  Bytes memory_;
  std::vector<Destination> destinations_;
};

double restore(RecordedSeries& recorded, std::size_t checkpoint, const State& state,
               unsigned threads) {
  const double begin = wall_seconds();
  const CheckpointReader reader(recorded.store(), recorded.checkpoints()[checkpoint].id);
  reader.read(state.destinations(), threads);
  return wall_seconds() - begin;
}

double restore_all(RecordedSeries& recorded, const State& state, unsigned threads, bool cold) {
  double seconds = 0;
  for (std::size_t i = 0; i < recorded.checkpoints().size(); ++i) {
    if (cold) {
      for (const fs::path& pack : recorded.packs()) drop_from_cache(pack);
    }
    seconds += restore(recorded, i, state, threads);
  }
  return seconds / static_cast<double>(recorded.checkpoints().size());
}

class Measurement {
 public:
  explicit Measurement(const Series& series)
      : series_(series),
        recorded_(series, home_.path() / "series"),
        alone_(last_of(series), home_.path() / "alone"),
        pack_(alone_.packs().at(0)),
        state_(series),
        copy_(series.state_bytes()),
        original_(flor::bench::read_file(series.files.back())) {}

  void round() {
    seconds_["memcpy"].push_back(copy_once());
    seconds_["raw warm"].push_back(read_plainly(series_.files.back(), state_.memory()));
    drop_from_cache(series_.files.back());
    seconds_["raw cold"].push_back(read_plainly(series_.files.back(), state_.memory()));
    drop_from_cache(pack_);
    seconds_["pack cold"].push_back(read_plainly(pack_, copy_));
    for (const unsigned threads : {1u, 2u}) {
      const std::string suffix = fmt::format(" {}", threads);
      seconds_["full warm" + suffix].push_back(restore_whole(threads));
      drop_from_cache(pack_);
      seconds_["full cold" + suffix].push_back(restore_whole(threads));
      seconds_["series warm" + suffix].push_back(restore_all(recorded_, state_, threads, false));
      seconds_["series cold" + suffix].push_back(restore_all(recorded_, state_, threads, true));
    }
  }

  void forget() { seconds_.clear(); }

  void print() const {
    const auto bytes = static_cast<double>(series_.state_bytes());
    fmt::print(
        "{:10} {:5.1f} MB, memcpy {:5.1f} GB/s | memcpys: raw {:4.1f}, full {:4.1f} {:4.1f}, "
        "series "
        "{:4.1f} {:4.1f} | cold: full {:4.2f} {:4.2f} of the pack, {:4.2f} {:4.2f} of raw; "
        "series {:4.2f} {:4.2f} of raw\n",
        series_.name, bytes / 1e6, bytes / flor::bench::median(seconds_.at("memcpy")) / 1e9,
        ratio("raw warm", "memcpy"), ratio("full warm 1", "memcpy"), ratio("full warm 2", "memcpy"),
        ratio("series warm 1", "memcpy"), ratio("series warm 2", "memcpy"),
        ratio("pack cold", "full cold 1"), ratio("pack cold", "full cold 2"),
        ratio("raw cold", "full cold 1"), ratio("raw cold", "full cold 2"),
        ratio("raw cold", "series cold 1"), ratio("raw cold", "series cold 2"));
    std::fflush(stdout);
  }

 private:
  static Series last_of(const Series& series) {
    return {series.name, series.tensors, {series.files.back()}};
  }

  double copy_once() {
    const double begin = wall_seconds();
    std::memcpy(copy_.data(), state_.memory().data(), copy_.size());
    return wall_seconds() - begin;
  }

  double restore_whole(unsigned threads) {
    const double seconds = restore(alone_, 0, state_, threads);
    if (state_.memory() != original_) throw std::runtime_error("restoring gave other bytes");
    return seconds;
  }

  double ratio(const char* above, const char* below) const {
    std::vector<double> ratios;
    const auto& upper = seconds_.at(above);
    const auto& lower = seconds_.at(below);
    for (std::size_t i = 0; i < upper.size(); ++i) ratios.push_back(upper[i] / lower[i]);
    return flor::bench::median(ratios);
  }

  const Series& series_;
  flor::bench::TemporaryDirectory home_;
  RecordedSeries recorded_;
  RecordedSeries alone_;
  fs::path pack_;
  State state_;
  Bytes copy_;
  Bytes original_;
  std::map<std::string, std::vector<double>> seconds_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  int rounds = 7;
  if (arguments.size() > 2 && arguments[0] == "-r") {
    rounds = std::atoi(arguments[1].c_str());
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.empty() || rounds < 1) {
    fmt::print(stderr, "usage: restore [-r ROUNDS] DIRECTORY [SERIES...]\n");
    return 2;
  }
  try {
    const std::span<const std::string> names(arguments.begin() + 1, arguments.end());
    fmt::print(
        "with 1 and 2 threads; a memcpy of the state is 1; cold: share of the plain read's "
        "speed\n");
    for (const Series& series : flor::bench::find_series(arguments[0], names)) {
      Measurement measurement(series);
      measurement.round();  // brings everything into the cache
      measurement.forget();
      for (int i = 0; i < rounds; ++i) measurement.round();
      measurement.print();
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "restore: {}\n", error.what());
    return 1;
  }
  return 0;
}
