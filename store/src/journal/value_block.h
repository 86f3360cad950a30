// Blocks: the values of one series encoded in columns, as journals and the index store them. A
// value takes a few bytes. docs/internals/format.md describes the bytes.
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
/// Limit of all texts and inner indices of a block together, in bytes. A longer text is stored as
/// an event or row of its own.
inline constexpr std::size_t kBlockTextMax = 4 * 1024 * 1024;

/// A value, without the fields that are common to its series.
struct Point {
  std::int64_t epoch = -1, step = -1, ordinal = 0;  ///< as in Place and Value
  std::string inner;
  ValueType type = ValueType::real;
  Scalar value;
};

/// A Point that refers to its inner indices and value instead of holding them.
struct PointView {
  std::int64_t epoch = -1, step = -1, ordinal = 0;
  ValueType type = ValueType::real;
  const std::string* inner = nullptr;
  const Scalar* value = nullptr;
};

/// Appends a block to `out`. It preserves the order of the points and every bit of their numbers.
/// At most kBlockPointsMax points and kBlockTextMax bytes of text. The block is smallest if the
/// points are in the order in which a program logs them.
void encode_block(CodecContext& context, std::span<const Point> points,
                  std::vector<std::byte>& out);
void encode_block(CodecContext& context, std::span<const PointView> points,
                  std::vector<std::byte>& out);

/// Decodes a block. Throws Damaged if the bytes are not a block. Memory is bounded by the limits
/// above, whatever the bytes claim.
std::vector<Point> decode_block(CodecContext& context, std::span<const std::byte> block);

}  // namespace flor::store
