#include "codec/codec_entropy.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace flor::store {
namespace {

enum class StreamKind : std::uint8_t { raw = 0, repeat = 1, zstd = 2 };

// A frame must save 1/32 of the bytes; otherwise decoding it is not worth the time.
std::size_t frame_limit(std::size_t bytes) { return bytes - bytes / 32; }

bool all_equal(std::span<const std::uint8_t> bytes) {
  return !bytes.empty() && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

void set(ZSTD_CCtx* context, ZSTD_cParameter parameter, int value) {
  const std::size_t result = ZSTD_CCtx_setParameter(context, parameter, value);
  if (ZSTD_isError(result) != 0) {
    throw Error(fmt::format("libzstd {} refuses a parameter: {}; install libzstd 1.4 or later",
                            ZSTD_versionString(), ZSTD_getErrorName(result)));
  }
}

}  // namespace

void throw_malformed(const char* what) {
  throw Damaged(fmt::format("encoded chunk is not well-formed: {}", what));
}

Zstd::Zstd() : decompressor_(ZSTD_createDCtx()) {
  if (!decompressor_) throw std::bad_alloc();
}

ZSTD_CCtx* Zstd::compressor(Texture texture) {
  auto& context = texture == Texture::noise ? noise_ : text_;
  if (context) return context.get();
  context.reset(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  set(context.get(), ZSTD_c_compressionLevel, 1);
  if (texture == Texture::noise) {
    // On noise these settings compress as well as Huffman coding alone, better if it has long runs,
    // and are much faster than any preset level: a table of 64 entries finds few matches but costs
    // little.
    set(context.get(), ZSTD_c_hashLog, 6);
    set(context.get(), ZSTD_c_minMatch, 7);
    set(context.get(), ZSTD_c_windowLog, 18);
  }
  return context.get();
}

std::size_t Zstd::compress(Texture texture, std::span<const std::uint8_t> in,
                           std::span<std::uint8_t> out) {
  const std::size_t size =
      ZSTD_compress2(compressor(texture), out.data(), out.size(), in.data(), in.size());
  return ZSTD_isError(size) != 0 ? 0 : size;
}

void Zstd::decompress(std::span<const std::uint8_t> frame, std::span<std::uint8_t> out) {
  const std::size_t size =
      ZSTD_decompressDCtx(decompressor_.get(), out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) throw_malformed(ZSTD_getErrorName(size));
  if (size != out.size()) throw_malformed("a zstd frame holds too few bytes");
}

std::size_t Zstd::memory() const {
  return ZSTD_sizeof_CCtx(noise_.get()) + ZSTD_sizeof_CCtx(text_.get()) +
         ZSTD_sizeof_DCtx(decompressor_.get());
}

void PayloadWriter::bytes(std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
  at_ += bytes.size();
}

void PayloadWriter::length(std::size_t bytes) {
  for (unsigned i = 0; i < 4; ++i) *at_++ = static_cast<std::uint8_t>(bytes >> (8 * i));
}

void PayloadWriter::stream(Zstd& zstd, Texture texture, bool compress,
                           std::span<const std::uint8_t> in) {
  if (all_equal(in)) {
    *at_++ = static_cast<std::uint8_t>(StreamKind::repeat);
    *at_++ = in.front();
    return;
  }
  if (compress) {
    const std::size_t size = zstd.compress(texture, in, {at_ + 5, frame_limit(in.size())});
    if (size != 0) {
      *at_++ = static_cast<std::uint8_t>(StreamKind::zstd);
      length(size);
      at_ += size;
      return;
    }
  }
  *at_++ = static_cast<std::uint8_t>(StreamKind::raw);
  bytes(in);
}

std::span<const std::uint8_t> PayloadReader::bytes(std::size_t count) {
  if (count > rest_.size()) throw_malformed("it ends too early");
  const auto bytes = rest_.first(count);
  rest_ = rest_.subspan(count);
  return bytes;
}

std::size_t PayloadReader::length() {
  std::size_t value = 0;
  const auto four = bytes(4);
  for (unsigned i = 0; i < 4; ++i) value |= std::size_t{four[i]} << (8 * i);
  return value;
}

const std::uint8_t* PayloadReader::stream(Zstd& zstd, std::size_t count, std::uint8_t* scratch) {
  switch (static_cast<StreamKind>(bytes(1)[0])) {
    case StreamKind::raw:
      return bytes(count).data();
    case StreamKind::repeat:
      std::fill_n(scratch, count, bytes(1)[0]);
      return scratch;
    case StreamKind::zstd:
      zstd.decompress(bytes(length()), {scratch, count});
      return scratch;
  }
  throw_malformed("unknown kind of stream");
}

void PayloadReader::finish() const {
  if (!rest_.empty()) throw_malformed("bytes follow its end");
}

}  // namespace flor::store
