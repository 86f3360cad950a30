// Encodes series of checkpoints chunk by chunk, as the store does, and prints the ratio of the
// sizes and the rates; also for zstd -1, zstd -3 and byte-shuffle + zstd -1 on the same chunks.
// Every encoding is decoded and compared. Usage: store_ratio [-d N] DIRECTORY [SERIES...], where
// DIRECTORY is the output of make_series and -d N sets the longest chain of differences (4).
//
// Rates are bytes of raw data per second of this thread's processor time, which other work on the
// machine disturbs less.
#include "codec/codec.h"
#include "series.h"

#include <flor/store/checkpoint.h>
#include <flor/store/digest.h>

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using flor::bench::Bytes;
using flor::bench::Series;
using flor::bench::Tensor;
using flor::bench::thread_seconds;
using flor::store::ElementType;

struct Totals {
  double raw = 0;
  double stored = 0;
  double encode_seconds = 0;
  double decode_seconds = 0;
  std::array<int, 9> forms{};  ///< number of chunks by codec value

  double ratio() const { return stored / raw; }
  double encode_rate() const { return raw / encode_seconds / 1e9; }
  double decode_rate() const { return raw / decode_seconds / 1e9; }
};

/// A piece of a tensor, and the same piece of the checkpoint before.
struct Piece {
  std::string_view kind;  ///< "m", "v", "momentum"; "weights" for everything that is no moment
  std::size_t index;      ///< counted over all pieces of a checkpoint
  ElementType type;
  std::span<const std::byte> raw;
  std::span<const std::byte> before;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual void run(const Piece& piece) = 0;
  Totals totals;
  std::map<std::string, Totals> kinds;
};

void require_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size()) != 0) {
    throw std::runtime_error("decoding gave other bytes");
  }
}

class Flor : public Method {
 public:
  explicit Flor(int depth_max) : depth_max_(depth_max) {}

  void run(const Piece& piece) override {
    if (piece.index >= depth_.size()) depth_.resize(piece.index + 1);
    int& depth = depth_[piece.index];
    totals.raw += static_cast<double>(piece.raw.size());
    Totals& kind = kinds[std::string(piece.kind)];
    kind.raw += static_cast<double>(piece.raw.size());
    const double begin = thread_seconds();
    // The store finds an unchanged chunk by its digest, before any codec.
    if (piece.before.size() == piece.raw.size() &&
        std::memcmp(piece.before.data(), piece.raw.data(), piece.raw.size()) == 0) {
      totals.encode_seconds += thread_seconds() - begin;
      return;
    }
    const auto base = depth < depth_max_ ? piece.before : std::span<const std::byte>{};
    const auto encoded = flor::store::encode(context_, piece.type, piece.raw, base, payload_);
    const double middle = thread_seconds();
    raw_.resize(piece.raw.size());
    const double ready = thread_seconds();
    flor::store::decode(context_, encoded.codec, piece.type, payload_, base, raw_);
    totals.decode_seconds += thread_seconds() - ready;
    totals.encode_seconds += middle - begin;
    totals.stored += static_cast<double>(payload_.size());
    kind.stored += static_cast<double>(payload_.size());
    ++kind.forms.at(encoded.codec);
    depth = encoded.uses_base ? depth + 1 : 0;
    require_equal(raw_, piece.raw);
  }

 private:
  int depth_max_;
  flor::store::CodecContext context_;
  std::vector<int> depth_;
  Bytes payload_;
  Bytes raw_;
};

class ZstdMethod : public Method {
 public:
  ZstdMethod(int level, bool shuffle)
      : level_(level),
        shuffle_(shuffle),
        compressor_(ZSTD_createCCtx(), ZSTD_freeCCtx),
        decompressor_(ZSTD_createDCtx(), ZSTD_freeDCtx) {}

  void run(const Piece& piece) override {
    const std::size_t size = piece.raw.size();
    payload_.resize(std::max(payload_.size(), ZSTD_compressBound(size)));
    raw_.resize(size);
    shuffled_.resize(size);
    const std::size_t width = flor::store::element_size(piece.type);
    const double begin = thread_seconds();
    if (shuffle_) permute(piece.raw.data(), shuffled_.data(), size / width, width, true);
    const void* in = shuffle_ ? shuffled_.data() : piece.raw.data();
    const std::size_t stored =
        ZSTD_compressCCtx(compressor_.get(), payload_.data(), payload_.size(), in, size, level_);
    const double middle = thread_seconds();
    ZSTD_decompressDCtx(decompressor_.get(), shuffle_ ? shuffled_.data() : raw_.data(), size,
                        payload_.data(), stored);
    if (shuffle_) permute(shuffled_.data(), raw_.data(), size / width, width, false);
    totals.decode_seconds += thread_seconds() - middle;
    totals.encode_seconds += middle - begin;
    totals.raw += static_cast<double>(size);
    totals.stored += static_cast<double>(stored);
    require_equal(raw_, piece.raw);
  }

 private:
  static void permute(const std::byte* in, std::byte* out, std::size_t count, std::size_t width,
                      bool forward) {
    for (std::size_t plane = 0; plane < width; ++plane) {
      for (std::size_t i = 0; i < count; ++i) {
        if (forward) {
          out[plane * count + i] = in[i * width + plane];
        } else {
          out[i * width + plane] = in[plane * count + i];
        }
      }
    }
  }

  int level_;
  bool shuffle_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> compressor_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decompressor_;
  Bytes payload_;
  Bytes raw_;
  Bytes shuffled_;
};

std::string_view kind_of(std::string_view name) {
  const std::string_view suffix = name.substr(name.rfind('.') + 1);
  return suffix == "m" || suffix == "v" || suffix == "momentum" ? suffix : "weights";
}

void for_each_piece(const std::vector<Tensor>& layout, const Bytes& now, const Bytes& before,
                    Method& method) {
  std::size_t offset = 0;
  std::size_t index = 0;
  for (const Tensor& tensor : layout) {
    for (std::size_t at = 0; at < tensor.bytes; at += flor::store::kChunkBytes) {
      const std::size_t size = std::min(flor::store::kChunkBytes, tensor.bytes - at);
      const std::span<const std::byte> raw{now.data() + offset + at, size};
      std::span<const std::byte> base;
      if (!before.empty()) base = {before.data() + offset + at, size};
      method.run({kind_of(tensor.name), index++, tensor.type, raw, base});
    }
    offset += tensor.bytes;
  }
}

void measure(const Series& series, int depth_max) {
  std::vector<std::pair<std::string, std::unique_ptr<Method>>> methods;
  methods.emplace_back(fmt::format("flor depth<={}", depth_max), std::make_unique<Flor>(depth_max));
  methods.emplace_back("flor no base", std::make_unique<Flor>(0));
  methods.emplace_back("zstd -1", std::make_unique<ZstdMethod>(1, false));
  methods.emplace_back("zstd -3", std::make_unique<ZstdMethod>(3, false));
  methods.emplace_back("shuffle+zstd -1", std::make_unique<ZstdMethod>(1, true));
  Bytes before;
  for (const auto& file : series.files) {
    Bytes now = flor::bench::read_file(file);
    for (auto& [name, method] : methods) for_each_piece(series.tensors, now, before, *method);
    before = std::move(now);
  }
  fmt::print("{} ({} checkpoints of {:.1f} MB)\n", series.name, series.files.size(),
             static_cast<double>(before.size()) / 1e6);
  for (const auto& [name, method] : methods) {
    const Totals& totals = method->totals;
    fmt::print("  {:16} stored/raw {:.4f}  encode {:5.2f} GB/s  decode {:5.2f} GB/s", name,
               totals.ratio(), totals.encode_rate(), totals.decode_rate());
    fmt::print("\n");
    for (const auto& [kind, part] : method->kinds) {
      fmt::print("    {:14} stored/raw {:.4f}  chunks by codec", kind, part.ratio());
      for (const int count : part.forms) fmt::print(" {}", count);
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  int depth_max = 4;
  const auto option = std::find(arguments.begin(), arguments.end(), "-d");
  if (option != arguments.end() && option + 1 != arguments.end()) {
    depth_max = std::atoi((option + 1)->c_str());
    arguments.erase(option, option + 2);
  }
  if (arguments.empty()) {
    fmt::print(stderr, "usage: store_ratio [-d N] DIRECTORY [SERIES...]\n");
    return 2;
  }
  try {
    const auto names = std::span(arguments).subspan(1);
    for (const Series& series : flor::bench::find_series(arguments[0], names)) {
      measure(series, depth_max);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "store_ratio: {}\n", error.what());
    return 1;
  }
  return 0;
}
