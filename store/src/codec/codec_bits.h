// Reads and writes numbers of any bit length without gaps, least significant bit first. Included by
// the kernels only.
#pragma once

#include "codec/codec_unpack.h"
#include "codec/codec_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flor::store::kernels {

inline constexpr unsigned kPutBits = 56;

// Collects bits and stores them a word at a time; between two calls fewer than 8 bits are pending.
class BitWriter {
 public:
  explicit BitWriter(Byte* out) : out_(out), begin_(out) {}

  // `value` has at most `width` <= kPutBits significant bits.
  FLOR_INLINE void put(std::uint64_t value, unsigned width) {
    pending_ |= value << filled_;
    filled_ += width;
    std::memcpy(out_, &pending_, sizeof pending_);
    out_ += filled_ >> 3;
    pending_ >>= filled_ & ~7U;
    filled_ &= 7U;
  }

  std::size_t finish() { return static_cast<std::size_t>(out_ - begin_) + (filled_ != 0 ? 1 : 0); }

 private:
  Byte* out_;
  Byte* begin_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

FLOR_INLINE Byte packed_width(Byte bit_class) {
  return static_cast<Byte>(bit_class - (bit_class != 0 ? 1 : 0));
}

/// Returns the highest bit of a value with this bit length (class), which is not stored.
template <class Word>
FLOR_INLINE Word highest_bit(Byte bit_class) {
  const Word bit = static_cast<Word>(Word{1} << ((bit_class - 1) & (kBits<Word> - 1)));
  return bit_class == 0 ? Word{0} : bit;
}

// Number of values that are written or read together, if they fit into one `put`. The speed is
// limited by the chain of dependent updates of the bit position, which is shorter for groups.
template <class Word>
inline constexpr std::size_t kGroup = sizeof(Word) <= 4 ? 8 / sizeof(Word) : 1;

template <class Word>
FLOR_INLINE unsigned group_width(const Byte* widths) {
  unsigned width = 0;
  for (std::size_t i = 0; i < kGroup<Word>; ++i) width += widths[i];
  return width;
}

template <class Word>
FLOR_INLINE void put_value(BitWriter& writer, std::uint64_t value, unsigned width) {
  if (sizeof(Word) == 8 && width > kPutBits) {
    writer.put(value & 0xffffffffU, 32);
    writer.put(value >> 32, width - 32);
  } else {
    writer.put(value, width);
  }
}

/// Writes the lowest widths[i] bits of values[i], which must not have higher bits.
template <class Word>
FLOR_INLINE void put_block(const Word* values, const Byte* widths, std::size_t count,
                           BitWriter& writer) {
  std::size_t i = 0;
  for (; kGroup<Word> > 1 && i + kGroup<Word> <= count; i += kGroup<Word>) {
    if (group_width<Word>(widths + i) > kPutBits) {
      for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
        put_value<Word>(writer, values[k], widths[k]);
      }
      continue;
    }
    std::uint64_t group = 0;
    unsigned width = 0;
    for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
      group |= std::uint64_t{values[k]} << width;
      width += widths[k];
    }
    writer.put(group, width);
  }
  for (; i < count; ++i) put_value<Word>(writer, values[i], widths[i]);
}

FLOR_INLINE std::uint64_t low_bits(std::uint64_t value, unsigned width) {
  return value & ((std::uint64_t{1} << width) - 1);  // width <= 63
}

// Reads bits at any position. Accesses up to 9 bytes from there.
class BitReader {
 public:
  explicit BitReader(const Byte* bits) : bits_(bits) {}

  /// Returns at least kPutBits bits, of which the next one is lowest.
  FLOR_INLINE std::uint64_t window() const {
    std::uint64_t window;
    std::memcpy(&window, bits_ + (position_ >> 3), sizeof window);
    return window >> (position_ & 7U);
  }
  /// Returns the next 64 bits.
  FLOR_INLINE std::uint64_t full_window() const {
    const std::uint64_t above = bits_[(position_ >> 3) + 8];
    return window() | ((above << 1) << (63 - (position_ & 7U)));
  }
  FLOR_INLINE void skip(std::uint64_t width) { position_ += width; }
  /// The byte that contains the next bit, and (`bit_in_byte`) the index of the bit in it.
  FLOR_INLINE const Byte* byte() const { return bits_ + (position_ >> 3); }
  FLOR_INLINE unsigned bit_in_byte() const { return position_ & 7U; }

 private:
  const Byte* bits_;
  std::uint64_t position_ = 0;
};

template <class Word>
FLOR_INLINE Word take_value(BitReader& reader, unsigned width) {
  const std::uint64_t window = sizeof(Word) == 8 ? reader.full_window() : reader.window();
  reader.skip(width);
  return static_cast<Word>(low_bits(window, width));
}

template <class Word>
FLOR_INLINE void take_block_plainly(BitReader& reader, const Byte* widths, std::size_t count,
                                    Word* values) {
  std::size_t i = 0;
  for (; kGroup<Word> > 1 && i + kGroup<Word> <= count; i += kGroup<Word>) {
    const unsigned total = group_width<Word>(widths + i);
    if (total > kPutBits) {
      for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
        values[k] = take_value<Word>(reader, widths[k]);
      }
      continue;
    }
    std::uint64_t window = reader.window();
    for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
      values[k] = static_cast<Word>(low_bits(window, widths[k]));
      window >>= widths[k];
    }
    reader.skip(total);
  }
  for (; i < count; ++i) values[i] = take_value<Word>(reader, widths[i]);
}

/// The most words that `take_block`, the reverse of `put_block`, can read in one call.
inline constexpr std::size_t kTakeMax = 1024;
template <class Word>
FLOR_INLINE void take_block(BitReader& reader, const Byte* widths, std::size_t count,
                            Word* values) {
  std::size_t done = 0;
  if constexpr (sizeof(Word) <= 4) {
    if (has_vectors()) {
      // Long fields are rare: they belong to words that were zero or changed their sign.
      while (done + kFieldGroup <= count) {
        std::uint32_t fields[kTakeMax];
        const FieldsTaken taken =
            take_fields(reader.byte(), reader.bit_in_byte(), widths + done, count - done, fields);
        reader.skip(taken.bits);
        for (std::size_t i = 0; i < taken.count; ++i) {
          values[done + i] = static_cast<Word>(fields[i]);
        }
        done += taken.count;
        if (done + kFieldGroup > count) break;
        take_block_plainly<Word>(reader, widths + done, kFieldGroup, values + done);
        done += kFieldGroup;
      }
    }
  }
  take_block_plainly<Word>(reader, widths + done, count - done, values + done);
}

}  // namespace flor::store::kernels
