// Encodes and decodes chunks: chooses the form, and writes or reads its payload.
// docs/internals/format-codecs.md specifies the payloads.
#include "codec/codec.h"

#include "base/digest_stream.h"
#include "codec/codec_chooser.h"
#include "codec/codec_entropy.h"
#include "codec/codec_forms.h"
#include "codec/codec_kernels.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace flor::store {

using kernels::Byte;

struct CodecContext::Impl {
  Zstd zstd;
  Scratch sample;
  Scratch output;
  Scratch planes;
  Scratch values;
  Scratch classes;
  Scratch symbols;
  Scratch payload;  ///< for callers that pass no memory for the payload
  DigestStream digest;
};

CodecContext::CodecContext() : impl_(std::make_unique<Impl>()) {}
CodecContext::~CodecContext() = default;

std::size_t CodecContext::memory() const {
  std::size_t bytes = impl_->zstd.memory();
  for (const Scratch* scratch : {&impl_->sample, &impl_->output, &impl_->planes, &impl_->values,
                                 &impl_->classes, &impl_->symbols, &impl_->payload}) {
    bytes += scratch->capacity();
  }
  return bytes;
}

WordShape word_shape(ElementType type) {
  switch (type) {
    case ElementType::bytes:
    case ElementType::boolean:
    case ElementType::u8:
    case ElementType::i8:
      return {1, false, 0};
    case ElementType::i16:
      return {2, false, 0};
    case ElementType::i32:
      return {4, false, 0};
    case ElementType::i64:
      return {8, false, 0};
    case ElementType::f16:
      return {2, true, 10};
    case ElementType::bf16:
      return {2, true, 7};
    case ElementType::f32:
    case ElementType::c64:
      return {4, true, 23};
    case ElementType::f64:
    case ElementType::c128:
      return {8, true, 52};
  }
  throw Damaged(fmt::format("unknown element type {}", static_cast<unsigned>(type)));
}

namespace {

// Shorter chunks are only encoded as raw, repeat or same: the overhead of the other forms would be
// larger than their gain.
constexpr std::size_t kSmallestWords = 32;

std::span<const Byte> as_u8(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const Byte*>(bytes.data()), bytes.size()};
}

/// A chunk: its complete words, and the bytes of an incomplete last one.
struct Chunk {
  WordShape shape;
  const Byte* words;
  const Byte* base;  ///< null if there is none
  std::size_t count;
  std::span<const Byte> tail;
};

void repeat(std::span<const Byte> word, std::span<Byte> out) {
  std::size_t done = std::min(word.size(), out.size());
  std::copy_n(word.begin(), done, out.begin());
  while (done < out.size()) {  // doubles the filled part each time
    const std::size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

bool repeats(std::span<const Byte> raw, std::size_t period) {
  return raw.size() > period &&
         std::memcmp(raw.data(), raw.data() + period, raw.size() - period) == 0;
}

/// Writes the payload of one chunk in a given form.
class Encoder {
 public:
  Encoder(CodecContext::Impl& scratch, const Chunk& chunk, Texture texture, Byte* out)
      : scratch_(scratch), chunk_(chunk), writer_(out), texture_(texture) {}

  /// Writes the payload and returns its size.
  std::size_t run(const Choice& choice) {
    switch (choice.form) {
      case Form::class_bits:
      case Form::scaled_class_bits:
        class_bits(choice);
        break;
      case Form::difference_planes:
        difference_planes(choice);
        break;
      case Form::sparse_planes:
        sparse_planes(choice);
        break;
      default:
        planes(choice);
    }
    writer_.bytes(chunk_.tail);
    return writer_.size();
  }

 private:
  std::size_t word_bytes() const { return chunk_.count * chunk_.shape.width; }

  void plane_streams(const Choice& choice, const Byte* planes, std::size_t count) {
    for (unsigned p = 0; p < chunk_.shape.width; ++p) {
      writer_.stream(scratch_.zstd, texture_, choice.compress[p], {planes + p * count, count});
    }
  }

  void planes(const Choice& choice) {
    Byte* planes = scratch_.planes.reserve(word_bytes());
    kernels::split(chunk_.shape, chunk_.words, chunk_.count, planes);
    if (choice.form == Form::exponent_difference) {
      Byte* upper = planes + (chunk_.shape.width - 1) * chunk_.count;
      Byte* before = scratch_.symbols.reserve(chunk_.count);
      kernels::upper_plane(chunk_.shape, chunk_.base, chunk_.count, before);
      kernels::subtract_bytes(upper, before, chunk_.count, upper);
    }
    plane_streams(choice, planes, chunk_.count);
  }

  void difference_planes(const Choice& choice) {
    Byte* values = scratch_.values.reserve(word_bytes());
    kernels::subtract(chunk_.shape, chunk_.words, chunk_.base, chunk_.count, values);
    Byte* planes = scratch_.planes.reserve(word_bytes());
    kernels::split({chunk_.shape.width, false, 0}, values, chunk_.count, planes);
    plane_streams(choice, planes, chunk_.count);
  }

  void sparse_planes(const Choice& choice) {
    const std::size_t mask_size = kernels::mask_bytes(chunk_.count);
    Byte* mask = scratch_.classes.reserve(mask_size);
    Byte* kept = scratch_.values.reserve(word_bytes());
    const std::size_t count =
        kernels::keep_nonzero(chunk_.shape, chunk_.words, chunk_.count, mask, kept);
    // A mask of zero rows and columns repeats itself over any distance, so it is compressed as
    // text.
    writer_.stream(scratch_.zstd, Texture::text, true, {mask, mask_size});
    Byte* planes = scratch_.planes.reserve(word_bytes());
    kernels::split(chunk_.shape, kept, count, planes);
    plane_streams(choice, planes, count);
  }

  void class_bits(const Choice& choice) {
    Byte* classes = scratch_.classes.reserve(chunk_.count);
    PayloadWriter length = writer_;
    writer_.length(0);
    const std::size_t bytes = kernels::pack(chunk_.shape, chunk_.words, chunk_.base, chunk_.count,
                                            classes, writer_.position());
    length.length(bytes);
    writer_.advance(bytes);
    if (choice.form == Form::scaled_class_bits) {
      kernels::add_exponents(chunk_.shape, classes, chunk_.base, chunk_.count, classes);
    }
    writer_.stream(scratch_.zstd, texture_, true, {classes, chunk_.count});
  }

  CodecContext::Impl& scratch_;
  const Chunk& chunk_;
  PayloadWriter writer_;
  Texture texture_;
};

/// Reads the payload of one chunk in a given form.
class Decoder {
 public:
  /// `digest`: receives all bytes of `raw`, in order; may be null.
  Decoder(CodecContext::Impl& scratch, WordShape shape, std::span<const Byte> payload,
          const Byte* base, std::span<Byte> raw, DigestStream* digest)
      : scratch_(scratch),
        shape_(shape),
        reader_(payload),
        base_(base),
        raw_(raw),
        count_(raw.size() / shape.width),
        digest_(digest) {}

  void run(Form form) {
    switch (form) {
      case Form::class_bits:
      case Form::scaled_class_bits:
        class_bits(form);
        break;
      case Form::difference_planes:
        difference_planes();
        break;
      case Form::sparse_planes:
        sparse_planes();
        break;
      default:
        planes(shape_, form, count_, raw_.data());
    }
    const std::size_t tail = raw_.size() - count_ * shape_.width;
    const auto bytes = reader_.bytes(tail);
    std::copy(bytes.begin(), bytes.end(), raw_.end() - static_cast<std::ptrdiff_t>(tail));
    reader_.finish();
    if (digest_ != nullptr) digest_->add(std::as_bytes(raw_.subspan(digested_)));
  }

 private:
  // Number of words decoded before they are hashed, so that they are still in the first-level
  // cache.
  static constexpr std::size_t kBlockWords = 2048;

  /// Call it when the words of `raw` before number `words` are decoded: adds them to the digest.
  void completed(std::size_t words) {
    if (digest_ == nullptr) return;
    const std::size_t bytes = words * shape_.width;
    digest_->add(std::as_bytes(raw_.subspan(digested_, bytes - digested_)));
    digested_ = bytes;
  }

  kernels::PlanePointers read_planes(std::size_t count) {
    Byte* memory = scratch_.planes.reserve(shape_.width * count);
    kernels::PlanePointers planes{};
    for (unsigned p = 0; p < shape_.width; ++p) {
      planes[p] = reader_.stream(scratch_.zstd, count, memory + p * count);
    }
    return planes;
  }

  void planes(WordShape shape, Form form, std::size_t count, Byte* words) {
    kernels::PlanePointers planes = read_planes(count);
    if (form == Form::exponent_difference) {
      Byte* upper = scratch_.symbols.reserve(count);
      kernels::upper_plane(shape, base_, count, upper);
      kernels::add_bytes(upper, planes[shape.width - 1], count, upper);
      planes[shape.width - 1] = upper;
    }
    for (std::size_t at = 0; at < count; at += kBlockWords) {
      const std::size_t size = std::min(kBlockWords, count - at);
      kernels::merge(shape, planes, size, words + at * shape.width);
      for (unsigned p = 0; p < shape.width; ++p) planes[p] += size;
      if (form != Form::difference_planes) completed(at + size);
    }
  }

  void difference_planes() {
    Byte* values = base_ == raw_.data() ? scratch_.values.reserve(raw_.size()) : raw_.data();
    planes({shape_.width, false, 0}, Form::difference_planes, count_, values);
    kernels::add(shape_, values, base_, count_, raw_.data());
  }

  void sparse_planes() {
    const std::size_t mask_size = kernels::mask_bytes(count_);
    const Byte* mask =
        reader_.stream(scratch_.zstd, mask_size, scratch_.classes.reserve(mask_size));
    if (count_ % 8 != 0 && (mask[mask_size - 1] >> (count_ % 8)) != 0) {
      throw_malformed("more words are marked than there are");
    }
    const std::size_t kept_count = kernels::set_bits(mask, mask_size);
    kernels::PlanePointers planes = read_planes(kept_count);
    std::array<Byte, kBlockWords * kernels::kMaxWidth + kernels::kSpreadSlack> kept{};
    for (std::size_t at = 0; at < count_; at += kBlockWords) {
      const std::size_t size = std::min(kBlockWords, count_ - at);
      const Byte* part = mask + at / 8;
      const std::size_t some = kernels::set_bits(part, kernels::mask_bytes(size));
      kernels::merge(shape_, planes, some, kept.data());
      for (unsigned p = 0; p < shape_.width; ++p) planes[p] += some;
      kernels::spread_nonzero(shape_, part, kept.data(), size, raw_.data() + at * shape_.width);
      completed(at + size);
    }
  }

  void class_bits(Form form) {
    const std::size_t size = reader_.length();
    const auto bits = reader_.bytes(size);
    const std::size_t behind = reader_.left();
    const Byte* classes = reader_.stream(scratch_.zstd, count_, scratch_.classes.reserve(count_));
    if (form == Form::scaled_class_bits) {
      Byte* unscaled = scratch_.symbols.reserve(count_);
      kernels::subtract_exponents(shape_, classes, base_, count_, unscaled);
      classes = unscaled;
    }
    if (kernels::largest(classes, count_) > 8 * shape_.width) {
      throw_malformed("a difference has more bits than a word");
    }
    if ((kernels::packed_bits(classes, count_) + 7) / 8 != size) {
      throw_malformed("the bits of the differences have another length than their classes say");
    }
    const Byte* at = bits.data();
    if (behind < kernels::kPackSlack) {
      Byte* copy = scratch_.planes.reserve(size + kernels::kPackSlack);
      std::copy(bits.begin(), bits.end(), copy);
      std::fill_n(copy + size, kernels::kPackSlack, Byte{0});
      at = copy;
    }
    kernels::unpack(shape_, at, classes, base_, count_, raw_.data());
  }

  CodecContext::Impl& scratch_;
  WordShape shape_;
  PayloadReader reader_;
  const Byte* base_;
  std::span<Byte> raw_;
  std::size_t count_;
  DigestStream* digest_;
  std::size_t digested_ = 0;  ///< number of bytes of `raw_` in the digest
};

std::size_t payload_bound(const Chunk& chunk) {
  std::size_t extra = 0;  // what the payload may need in addition to all bits of all words
  if (chunk.shape.is_float) {
    extra = chunk.base != nullptr ? chunk.count : kernels::mask_bytes(chunk.count);
  }
  return chunk.count * chunk.shape.width + extra + kernels::kPackSlack + chunk.tail.size() +
         (chunk.shape.width + 1) * PayloadWriter::stream_bound(0);
}

/// A payload, and its form. `size` is 0 if the payload is not shorter than the chunk.
struct Written {
  Form form = Form::raw;
  std::size_t size = 0;
};

/// Encodes integers and bytes. A sample does not show repetitions, so two forms are tried.
Written encode_integers(CodecContext::Impl& scratch, const Chunk& chunk, std::size_t limit,
                        Scratch& memory) {
  Choice choice;
  choice.compress.fill(true);
  const std::size_t bound = payload_bound(chunk);
  const std::size_t direct =
      Encoder(scratch, chunk, Texture::text, memory.reserve(bound)).run(choice);
  if (chunk.base != nullptr) {
    choice.form = Form::difference_planes;
    const std::size_t difference =
        Encoder(scratch, chunk, Texture::text, scratch.output.reserve(bound)).run(choice);
    if (difference < std::min(limit, direct) - std::min(limit, direct) / 20) {
      std::swap(memory, scratch.output);
      return {Form::difference_planes, difference};
    }
  }
  return direct < limit ? Written{Form::planes, direct} : Written{};
}

Written encode_floats(CodecContext::Impl& scratch, const Chunk& chunk, std::size_t limit,
                      Scratch& memory) {
  const Choice choice = choose(chunk.shape, chunk.words, chunk.base, chunk.count, scratch.sample);
  const std::size_t size =
      Encoder(scratch, chunk, Texture::noise, memory.reserve(payload_bound(chunk))).run(choice);
  return size < limit ? Written{choice.form, size} : Written{};
}

/// Tries all forms that exist for the chunk, first those without a base.
Written encode_floats_shortest(CodecContext::Impl& scratch, const Chunk& chunk, std::size_t limit,
                               Scratch& memory) {
  constexpr std::size_t kBaseMustSave = 100;  // a base must save one in this number of bytes
  const std::size_t bound = payload_bound(chunk);
  Choice choice;
  choice.compress.fill(true);
  Written best{Form::raw, limit};
  for (const Form form :
       {Form::planes, Form::sparse_planes, Form::class_bits, Form::scaled_class_bits,
        Form::exponent_difference, Form::difference_planes}) {
    if (needs_base(form) && chunk.base == nullptr) break;
    choice.form = form;
    const std::size_t size =
        Encoder(scratch, chunk, Texture::noise, scratch.output.reserve(bound)).run(choice);
    const bool is_first_with_base = needs_base(form) && !needs_base(best.form);
    if (size >= best.size - (is_first_with_base ? best.size / kBaseMustSave : 0)) continue;
    best = {form, size};
    std::swap(memory, scratch.output);
  }
  return best.size < limit ? best : Written{};
}

/// Encodes without taking a sample: only the exponents of floats, or all planes of other types, in
/// the cheapest way.
Written encode_fast(CodecContext::Impl& scratch, const Chunk& chunk, std::size_t limit,
                    Scratch& memory) {
  Choice choice;
  if (chunk.shape.is_float) {
    choice.compress[chunk.shape.width - 1] = true;
  } else {
    choice.compress.fill(true);
  }
  const std::size_t size =
      Encoder(scratch, chunk, Texture::noise, memory.reserve(payload_bound(chunk))).run(choice);
  return size < limit ? Written{Form::planes, size} : Written{};
}

/// How the form of floats is chosen: by a sample, or by trying all.
enum class Search { sample, all };

Written encode_words(CodecContext::Impl& scratch, Effort effort, Search search,
                     const WordShape& shape, std::span<const Byte> raw, const Byte* base,
                     Scratch& memory) {
  const std::size_t count = raw.size() / shape.width;
  if (count < kSmallestWords) return {};
  const Chunk chunk{shape, raw.data(), base, count, raw.subspan(count * shape.width)};
  if (search == Search::all && shape.is_float) {
    return encode_floats_shortest(scratch, chunk, raw.size(), memory);
  }
  if (effort == Effort::fast) return encode_fast(scratch, chunk, raw.size(), memory);
  return shape.is_float ? encode_floats(scratch, chunk, raw.size(), memory)
                        : encode_integers(scratch, chunk, raw.size(), memory);
}

Encoded encoded_as(Form form, std::span<const std::byte> payload) {
  return {static_cast<std::uint8_t>(form), needs_base(form), payload};
}

Encoded encode(CodecContext& context, Effort effort, Search search, ElementType type,
               std::span<const std::byte> raw, std::span<const std::byte> base, Scratch& memory) {
  if (effort == Effort::raw) return encoded_as(Form::raw, raw);
  const WordShape shape = word_shape(type);
  if (repeats(as_u8(raw), shape.width)) return encoded_as(Form::repeat, raw.first(shape.width));
  const bool has_base = effort == Effort::full && !base.empty() && base.size() == raw.size();
  if (has_base && std::memcmp(raw.data(), base.data(), raw.size()) == 0) {
    return encoded_as(Form::same, {});
  }
  const Written written = encode_words(context.impl(), effort, search, shape, as_u8(raw),
                                       has_base ? as_u8(base).data() : nullptr, memory);
  if (written.size == 0) return encoded_as(Form::raw, raw);
  const auto* begin = reinterpret_cast<const std::byte*>(memory.reserve(written.size));
  return encoded_as(written.form, {begin, written.size});
}

}  // namespace

Encoded encode(CodecContext& context, Effort effort, ElementType type,
               std::span<const std::byte> raw, std::span<const std::byte> base, Scratch& memory) {
  return encode(context, effort, Search::sample, type, raw, base, memory);
}

Encoded encode_shortest(CodecContext& context, ElementType type, std::span<const std::byte> raw,
                        std::span<const std::byte> base, Scratch& memory) {
  return encode(context, Effort::full, Search::all, type, raw, base, memory);
}

Encoded encode(CodecContext& context, ElementType type, std::span<const std::byte> raw,
               std::span<const std::byte> base, std::vector<std::byte>& payload) {
  Encoded encoded = encode(context, Effort::full, type, raw, base, context.impl().payload);
  payload.assign(encoded.payload.begin(), encoded.payload.end());
  encoded.payload = payload;
  return encoded;
}

namespace {

/// `digest`: receives the bytes of `raw`; may be null.
void decode(CodecContext& context, std::uint8_t codec, ElementType type,
            std::span<const std::byte> payload, std::span<const std::byte> base,
            std::span<std::byte> raw, DigestStream* digest) {
  const WordShape shape = word_shape(type);
  const Form form = static_cast<Form>(codec);
  if (codec > static_cast<std::uint8_t>(kLastForm)) {
    throw Damaged(fmt::format("unknown codec {}; a newer Flor may read it", codec));
  }
  if (needs_float(form) && !shape.is_float) {
    throw Damaged(fmt::format("codec {} is for floating-point elements only", codec));
  }
  if (needs_base(form) && base.size() != raw.size()) {
    throw Damaged(fmt::format("chunk of {} bytes needs a base of that size and was given {} bytes",
                              raw.size(), base.size()));
  }
  const auto in = as_u8(payload);
  const std::span<Byte> out{reinterpret_cast<Byte*>(raw.data()), raw.size()};
  switch (form) {
    case Form::raw:
      if (in.size() != out.size()) throw_malformed("its length is not that of the chunk");
      std::copy(in.begin(), in.end(), out.begin());
      break;
    case Form::repeat:
      if (in.size() != shape.width) throw_malformed("its length is not that of one word");
      repeat(in, out);
      break;
    case Form::same:
      if (!in.empty()) throw_malformed("bytes follow its end");
      if (base.data() != raw.data()) std::copy(base.begin(), base.end(), raw.begin());
      break;
    default:
      Decoder(context.impl(), shape, in, reinterpret_cast<const Byte*>(base.data()), out, digest)
          .run(form);
      return;
  }
  if (digest != nullptr) digest->add(raw);
}

}  // namespace

void decode(CodecContext& context, std::uint8_t codec, ElementType type,
            std::span<const std::byte> payload, std::span<const std::byte> base,
            std::span<std::byte> raw) {
  decode(context, codec, type, payload, base, raw, nullptr);
}

Digest decode_and_digest(CodecContext& context, std::uint8_t codec, ElementType type,
                         std::span<const std::byte> payload, std::span<const std::byte> base,
                         std::span<std::byte> raw) {
  DigestStream& digest = context.impl().digest;
  digest.restart();
  decode(context, codec, type, payload, base, raw, &digest);
  return digest.digest();
}

}  // namespace flor::store
