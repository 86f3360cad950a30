// Values of one series in columns, as journals and sealed files keep them: a few bytes each instead
// of a row. docs/internals/format.md has the bytes.
#pragma once

#include "codec/codec.h"

#include <flor/store/catalog.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

inline constexpr std::size_t kBlockPointsMax = 32'768;
/// The most bytes of the texts and inner indices of a block together. A longer text is an object of
/// its own.
inline constexpr std::size_t kBlockTextMax = 4 * 1024 * 1024;

/// A value without the fields that all of its series share.
struct Point {
  std::int64_t epoch = -1, step = -1, ordinal = 0;  ///< as in Place and Value
  std::string inner;
  ValueType type = ValueType::real;
  Scalar value;
};

/// A point that refers to its texts and values.
struct PointView {
  std::int64_t epoch = -1, step = -1, ordinal = 0;
  ValueType type = ValueType::real;
  const std::string* inner = nullptr;
  const Scalar* value = nullptr;
};

/// Appends the block to `out`. The order of the points is kept, and every bit of their numbers. At
/// most kBlockPointsMax points and kBlockTextMax bytes of text. Smallest where the points are in
/// the order in which a program logs them.
void encode_block(CodecContext& context, std::span<const Point> points,
                  std::vector<std::byte>& out);
void encode_block(CodecContext& context, std::span<const PointView> points,
                  std::vector<std::byte>& out);

/// Decodes a block. Throws Damaged for bytes that are no block. Takes memory in proportion to the
/// limits above, whatever the bytes claim.
std::vector<Point> decode_block(CodecContext& context, std::span<const std::byte> block);

}  // namespace flor::store
