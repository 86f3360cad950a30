// Measures to what size, and at what cost, series of checkpoints are stored by each method: raw,
// zstd, byte-shuffled zstd, and Flor as recorded and as archived. Prints rows of a table. Usage:
// compare DIRECTORY [SERIES...], where DIRECTORY is the output of make_series. bench/compare.sh
// adds other programs.
//
// Rates are bytes of raw data per second of processor time of all threads together, i.e. the rate
// of one core. Those of Flor include hashing, writing, the catalog and verifying; its size is that
// of the packs with headers. The other methods work in memory, tensor by tensor, except "zstd -3,
// written", which appends its frames to a file, syncs the file after each checkpoint, and reads the
// frames from it. The output of every method is decoded and compared.
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "series.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;
using flor::bench::Bytes;
using flor::bench::process_seconds;
using flor::bench::RecordedSeries;
using flor::bench::Series;
using flor::bench::Tensor;
using flor::bench::thread_seconds;

struct Totals {
  double raw = 0;
  double stored = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
};

void print_row(const Series& series, const char* method, const Totals& totals) {
  fmt::print("| {:9} | {:16} | {:.4f} | {:5.2f} | {:5.2f} |\n", series.name, method,
             totals.stored / totals.raw, totals.raw / totals.encode_seconds / 1e9,
             totals.raw / totals.decode_seconds / 1e9);
  std::fflush(stdout);
}

void require_equal(const Bytes& a, const Bytes& b) {
  if (a != b) throw std::runtime_error("decoding gave other bytes");
}

void shuffle(const std::byte* in, std::byte* out, std::size_t count, std::size_t width) {
  for (std::size_t plane = 0; plane < width; ++plane) {
    for (std::size_t i = 0; i < count; ++i) out[plane * count + i] = in[i * width + plane];
  }
}

void unshuffle(const std::byte* in, std::byte* out, std::size_t count, std::size_t width) {
  for (std::size_t plane = 0; plane < width; ++plane) {
    for (std::size_t i = 0; i < count; ++i) out[i * width + plane] = in[plane * count + i];
  }
}

/// A file to which frames are appended and from which they are read.
class FrameFile {
 public:
  FrameFile() : descriptor_(::open((home_.path() / "frames").c_str(), O_RDWR | O_CREAT, 0600)) {
    require(descriptor_ >= 0);
  }
  ~FrameFile() { ::close(descriptor_); }
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;

  void append(const Bytes& frame, std::size_t size) {
    require(::pwrite(descriptor_, frame.data(), size, end_) == static_cast<ssize_t>(size));
    end_ += static_cast<off_t>(size);
  }
  void read_last(Bytes& frame, std::size_t size) const {
    const auto begin = end_ - static_cast<off_t>(size);
    require(::pread(descriptor_, frame.data(), size, begin) == static_cast<ssize_t>(size));
  }
  void sync() const { require(::fdatasync(descriptor_) == 0); }

 private:
  static void require(bool done) {
    if (!done) throw std::runtime_error("cannot write or read a file of frames");
  }

  flor::bench::TemporaryDirectory home_;
  int descriptor_;
  off_t end_ = 0;
};

class ZstdMethod {
 public:
  ZstdMethod(int level, bool shuffles, bool writes) : level_(level), shuffles_(shuffles) {
    if (writes) file_ = std::make_unique<FrameFile>();
  }

  void run(const Tensor& tensor, const std::byte* content) {
    const std::size_t width = flor::store::element_size(tensor.type);
    const Bytes raw(content, content + tensor.bytes);
    frame_.resize(std::max(frame_.size(), ZSTD_compressBound(raw.size())));
    shuffled_.resize(raw.size());
    back_.resize(raw.size());
    const double begin = thread_seconds();
    if (shuffles_) shuffle(raw.data(), shuffled_.data(), raw.size() / width, width);
    const std::size_t size =
        ZSTD_compressCCtx(compressor_.get(), frame_.data(), frame_.size(),
                          shuffles_ ? shuffled_.data() : raw.data(), raw.size(), level_);
    if (file_) file_->append(frame_, size);
    const double middle = thread_seconds();
    if (file_) file_->read_last(frame_, size);
    ZSTD_decompressDCtx(decompressor_.get(), shuffles_ ? shuffled_.data() : back_.data(),
                        raw.size(), frame_.data(), size);
    if (shuffles_) unshuffle(shuffled_.data(), back_.data(), raw.size() / width, width);
    totals.decode_seconds += thread_seconds() - middle;
    totals.encode_seconds += middle - begin;
    totals.raw += static_cast<double>(raw.size());
    totals.stored += static_cast<double>(size);
    require_equal(back_, raw);
  }
  void end_checkpoint() {
    if (!file_) return;
    const double begin = thread_seconds();
    file_->sync();
    totals.encode_seconds += thread_seconds() - begin;
  }

  Totals totals;

 private:
  int level_;
  bool shuffles_;
  std::unique_ptr<FrameFile> file_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> compressor_{ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decompressor_{ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx};
  Bytes frame_;
  Bytes shuffled_;
  Bytes back_;
};

void run_zstd(const Series& series, const char* name, int level, bool shuffles,
              bool writes = false) {
  ZstdMethod method(level, shuffles, writes);
  for (const fs::path& file : series.files) {
    const Bytes content = flor::bench::read_file(file);
    std::size_t offset = 0;
    for (const Tensor& tensor : series.tensors) {
      method.run(tensor, content.data() + offset);
      offset += tensor.bytes;
    }
    method.end_checkpoint();
  }
  print_row(series, name, method.totals);
}

void run_copy(const Series& series) {
  Totals totals;
  for (const fs::path& file : series.files) {
    const Bytes content = flor::bench::read_file(file);
    Bytes copy(content.size(), std::byte{1});
    const double begin = thread_seconds();
    std::memcpy(copy.data(), content.data(), copy.size());
    totals.encode_seconds += thread_seconds() - begin;
    require_equal(copy, content);
    totals.raw += static_cast<double>(content.size());
  }
  totals.stored = totals.raw;
  totals.decode_seconds = totals.encode_seconds;
  print_row(series, "raw (memcpy)", totals);
}

/// Reads every checkpoint with one thread. Returns the seconds.
double read_all(const Series& series, RecordedSeries& recorded) {
  double seconds = 0;
  for (std::size_t i = 0; i < series.files.size(); ++i) {
    Bytes memory(series.state_bytes(), std::byte{1});
    std::vector<flor::store::Destination> destinations;
    std::size_t offset = 0;
    for (std::size_t item = 0; item < series.tensors.size(); ++item) {
      destinations.push_back({item, std::span(memory).subspan(offset, series.tensors[item].bytes)});
      offset += series.tensors[item].bytes;
    }
    const double begin = process_seconds();
    const flor::store::CheckpointReader reader(recorded.store(), recorded.checkpoints()[i].id);
    reader.read(destinations, 1);
    seconds += process_seconds() - begin;
    require_equal(memory, flor::bench::read_file(series.files[i]));
  }
  return seconds;
}

void run_flor(const Series& series) {
  const flor::bench::TemporaryDirectory home;
  RecordedSeries recorded(series, home.path() / "store");
  Totals totals;
  totals.raw = static_cast<double>(series.state_bytes() * series.files.size());
  totals.stored = static_cast<double>(recorded.pack_bytes());
  totals.encode_seconds = recorded.seconds();
  totals.decode_seconds = read_all(series, recorded);
  print_row(series, "flor", totals);

  flor::store::Store& store = recorded.store();
  const double begin = process_seconds();
  flor::store::archive(store, store.catalog().resolve(recorded.run_key()), {});
  flor::store::collect(store, false, flor::store::kTightShare);
  totals.encode_seconds = process_seconds() - begin;
  totals.stored = static_cast<double>(recorded.pack_bytes());
  totals.decode_seconds = read_all(series, recorded);
  print_row(series, "flor archive", totals);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    fmt::print(stderr, "usage: compare DIRECTORY [SERIES...]\n");
    return 2;
  }
  try {
    const auto all = flor::bench::find_series(arguments[0], std::span(arguments).subspan(1));
    for (const Series& series : all) {
      run_copy(series);
      run_zstd(series, "zstd -1", 1, false);
      run_zstd(series, "zstd -3", 3, false);
      run_zstd(series, "zstd -3, written", 3, false, true);
      run_zstd(series, "shuffle + zstd -1", 1, true);
      run_flor(series);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare: {}\n", error.what());
    return 1;
  }
  return 0;
}
