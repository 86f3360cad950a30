#include "journal/value_block.h"

#include "base/little_endian.h"
#include "base/scratch.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace flor::store {
namespace {

using RawBytes = std::vector<std::byte>;

[[noreturn]] void refuse(const char* what) {
  throw Damaged(fmt::format("a block of values {}: run `flor fsck`", what));
}

/// Writes 7 bits per byte, lowest first; all bytes but the last have bit 7 set.
void append_varint(RawBytes& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<std::byte>(number | 0x80));
  out.push_back(static_cast<std::byte>(number));
}

/// Maps signed numbers close to 0 to small unsigned numbers.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return number >> 1 ^ ((number & 1) != 0 ? ~std::uint64_t{0} : 0);
}

/// Reads the rest of a block, checking every bound.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) refuse("ends early");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  template <std::unsigned_integral T>
  T number() {
    return get<T>(take(sizeof(T)));
  }
  std::uint64_t varint() {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = number<std::uint8_t>();
      result |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return result;
    }
    refuse("has a number without an end");
  }
  bool done() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

/// Appends u8 codec, u32 raw length, u32 payload length, payload.
void append_piece(CodecContext& context, ElementType type, std::span<const std::byte> raw,
                  RawBytes& out) {
  RawBytes payload;
  const Encoded encoded = encode(context, type, raw, {}, payload);
  append(out, encoded.codec);
  append(out, static_cast<std::uint32_t>(raw.size()));
  append(out, static_cast<std::uint32_t>(payload.size()));
  out.insert(out.end(), payload.begin(), payload.end());
}

RawBytes take_piece(CodecContext& context, ElementType type, Reader& in, std::size_t most) {
  const auto codec = in.number<std::uint8_t>();
  const auto raw = in.number<std::uint32_t>();
  const auto payload = in.take(in.number<std::uint32_t>());
  if (raw > kChunkBytes || raw > most) refuse("is longer than one may be");
  RawBytes bytes(raw);
  decode(context, codec, type, payload, {}, bytes);
  return bytes;
}

/// Appends u32 number of bytes, then the bytes as pieces of at most kChunkBytes.
void append_bytes(CodecContext& context, const RawBytes& raw, RawBytes& out) {
  append(out, static_cast<std::uint32_t>(raw.size()));
  for (std::size_t at = 0; at < raw.size(); at += kChunkBytes) {
    append_piece(context, ElementType::bytes,
                 std::span(raw).subspan(at, std::min(kChunkBytes, raw.size() - at)), out);
  }
}

RawBytes take_bytes(CodecContext& context, Reader& in, std::size_t most) {
  const auto size = in.number<std::uint32_t>();
  if (size > most) refuse("is longer than one may be");
  RawBytes bytes;
  while (bytes.size() < size) {
    const RawBytes piece = take_piece(context, ElementType::bytes, in, size - bytes.size());
    if (piece.empty()) refuse("has an empty piece");
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

/// Appends integers as arithmetic progressions: first (relative to the previous integer),
/// difference, count. The steps of an epoch are usually one progression.
void append_integers(CodecContext& context, std::span<const std::uint64_t> numbers, RawBytes& out) {
  RawBytes raw;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    const std::uint64_t difference = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 0;
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == difference) ++end;
    append_varint(raw, zigzag(numbers[i] - before));
    append_varint(raw, zigzag(difference));
    append_varint(raw, end - i);
    before = numbers[end - 1];
    i = end;
  }
  append_bytes(context, raw, out);
}

constexpr std::size_t kIntegersMax =
    kBlockPointsMax / 2 * 23 + 64;  // bytes of the largest number of progressions

std::vector<std::uint64_t> take_integers(CodecContext& context, Reader& in, std::size_t count) {
  const RawBytes raw = take_bytes(context, in, kIntegersMax);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  std::uint64_t before = 0;
  for (Reader progressions(raw); !progressions.done();) {
    std::uint64_t number = before + unzigzag(progressions.varint());
    const std::uint64_t difference = unzigzag(progressions.varint());
    const std::uint64_t length = progressions.varint();
    if (length == 0 || length > count - numbers.size()) refuse("has more numbers than points");
    for (std::uint64_t i = 0; i < length; ++i, number += difference) numbers.push_back(number);
    before = numbers.back();
  }
  if (numbers.size() != count) refuse("has fewer numbers than points");
  return numbers;
}

/// True if the double can be converted to float and back without changing a bit.
bool is_float(double number) {
  const auto narrow = static_cast<float>(number);
  return std::bit_cast<std::uint64_t>(static_cast<double>(narrow)) ==
         std::bit_cast<std::uint64_t>(number);
}

template <class Real>
void append_reals_as(CodecContext& context, ElementType type, const std::vector<double>& numbers,
                     RawBytes& out) {
  std::vector<Real> narrow(numbers.begin(), numbers.end());
  append(out, static_cast<std::uint8_t>(type));
  append_piece(context, type, std::as_bytes(std::span(narrow)), out);
}

/// Appends u8 element type, then the numbers: as f32 if all are exactly floats, which most logged
/// numbers are, otherwise as f64.
void append_reals(CodecContext& context, const std::vector<double>& numbers, RawBytes& out) {
  // Converting a signalling NaN to float and back makes it quiet, so `is_float` is false for it.
  if (std::ranges::all_of(numbers, is_float)) {
    append_reals_as<float>(context, ElementType::f32, numbers, out);
  } else {
    append_reals_as<double>(context, ElementType::f64, numbers, out);
  }
}

template <class Real>
std::vector<double> reals_of(const RawBytes& bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(Real)) refuse("has another number of reals than of points");
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    Real number{};
    std::memcpy(&number, bytes.data() + i * sizeof(Real), sizeof(Real));
    numbers[i] = number;
  }
  return numbers;
}

std::vector<double> take_reals(CodecContext& context, Reader& in, std::size_t count) {
  const auto type = static_cast<ElementType>(in.number<std::uint8_t>());
  if (type != ElementType::f32 && type != ElementType::f64)
    refuse("has reals of a form that this Flor does not know");
  const RawBytes bytes = take_piece(context, type, in, count * sizeof(double));
  return type == ElementType::f32 ? reals_of<float>(bytes, count) : reals_of<double>(bytes, count);
}

/// Appends the length of each text as a varint, and then the characters of all texts.
void append_texts(CodecContext& context, const std::vector<std::string_view>& texts,
                  RawBytes& out) {
  RawBytes raw;
  for (const std::string_view text : texts) append_varint(raw, text.size());
  for (const std::string_view text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    raw.insert(raw.end(), bytes.begin(), bytes.end());
  }
  append_bytes(context, raw, out);
}

std::vector<std::string> take_texts(CodecContext& context, Reader& in, std::size_t count) {
  const RawBytes raw = take_bytes(context, in, kBlockTextMax + 5 * kBlockPointsMax);
  Reader rest(raw);
  std::vector<std::size_t> lengths(count);
  for (std::size_t& length : lengths) length = rest.varint();
  std::vector<std::string> texts;
  texts.reserve(count);
  for (const std::size_t length : lengths) {
    const auto bytes = rest.take(length);
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (!rest.done()) refuse("has texts that are of no point");
  return texts;
}

bool is_integer(ValueType type) { return type == ValueType::boolean || type == ValueType::integer; }

/// The columns of a block, one vector for each.
struct Columns {
  std::vector<std::uint64_t> epochs, steps, ordinals, types, integers;
  std::vector<std::string_view> inner, texts;  ///< `inner` is empty if all are empty
  std::vector<double> reals;
  bool has_inner = false;
};

Columns columns_of(std::span<const PointView> points) {
  Columns columns;
  std::size_t text = 0;
  for (auto* column : {&columns.epochs, &columns.steps, &columns.ordinals, &columns.types}) {
    column->reserve(points.size());
  }
  for (const PointView& point : points) {
    columns.epochs.push_back(static_cast<std::uint64_t>(point.epoch));
    columns.steps.push_back(static_cast<std::uint64_t>(point.step));
    columns.ordinals.push_back(static_cast<std::uint64_t>(point.ordinal));
    columns.types.push_back(static_cast<std::uint64_t>(point.type));
    if (!point.inner->empty()) columns.has_inner = true;
    text += point.inner->size();
    if (is_integer(point.type)) {
      columns.integers.push_back(static_cast<std::uint64_t>(std::get<std::int64_t>(*point.value)));
    } else if (point.type == ValueType::real) {
      columns.reals.push_back(std::get<double>(*point.value));
    } else {
      columns.texts.push_back(std::get<std::string>(*point.value));
      text += columns.texts.back().size();
    }
  }
  if (points.size() > kBlockPointsMax || text > kBlockTextMax) {
    throw Error(fmt::format("{} values with {} bytes of text are too much for a block",
                            points.size(), text));
  }
  if (columns.has_inner) {
    for (const PointView& point : points) columns.inner.push_back(*point.inner);
  }
  return columns;
}

}  // namespace

void encode_block(CodecContext& context, std::span<const Point> points, RawBytes& out) {
  std::vector<PointView> views;
  views.reserve(points.size());
  for (const Point& point : points) {
    views.push_back(
        {point.epoch, point.step, point.ordinal, point.type, &point.inner, &point.value});
  }
  encode_block(context, views, out);
}

void encode_block(CodecContext& context, std::span<const PointView> points, RawBytes& out) {
  const Columns columns = columns_of(points);
  append(out, static_cast<std::uint32_t>(points.size()));
  for (const auto* column : {&columns.epochs, &columns.steps, &columns.ordinals, &columns.types}) {
    append_integers(context, *column, out);
  }
  append(out, static_cast<std::uint8_t>(columns.has_inner));
  if (columns.has_inner) append_texts(context, columns.inner, out);
  if (!columns.integers.empty()) append_integers(context, columns.integers, out);
  if (!columns.reals.empty()) append_reals(context, columns.reals, out);
  if (!columns.texts.empty()) append_texts(context, columns.texts, out);
}

std::vector<Point> decode_block(CodecContext& context, std::span<const std::byte> block) {
  Reader in(block);
  const auto count = in.number<std::uint32_t>();
  if (count > kBlockPointsMax) refuse("has more points than one may have");
  const auto epochs = take_integers(context, in, count);
  const auto steps = take_integers(context, in, count);
  const auto ordinals = take_integers(context, in, count);
  const auto types = take_integers(context, in, count);
  const bool has_inner = in.number<std::uint8_t>() != 0;
  std::vector<std::string> inner =
      has_inner ? take_texts(context, in, count) : std::vector<std::string>(count);

  std::size_t integers = 0, reals = 0;
  for (const std::uint64_t type : types) {
    if (type > static_cast<std::uint64_t>(ValueType::table))
      refuse("has a type of value that this Flor does not know");
    integers += is_integer(static_cast<ValueType>(type)) ? 1 : 0;
    reals += static_cast<ValueType>(type) == ValueType::real ? 1 : 0;
  }
  const std::size_t texts = count - integers - reals;
  std::vector<std::uint64_t> integer_column;
  if (integers > 0) integer_column = take_integers(context, in, integers);
  std::vector<double> real_column;
  if (reals > 0) real_column = take_reals(context, in, reals);
  std::vector<std::string> text_column;
  if (texts > 0) text_column = take_texts(context, in, texts);
  if (!in.done()) refuse("goes on after its end");

  std::vector<Point> points(count);
  std::size_t next_integer = 0, next_real = 0, next_text = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Point& point = points[i];
    point.epoch = static_cast<std::int64_t>(epochs[i]);
    point.step = static_cast<std::int64_t>(steps[i]);
    point.ordinal = static_cast<std::int64_t>(ordinals[i]);
    point.inner = std::move(inner[i]);
    point.type = static_cast<ValueType>(types[i]);
    if (is_integer(point.type)) {
      point.value = static_cast<std::int64_t>(integer_column[next_integer++]);
    } else if (point.type == ValueType::real) {
      point.value = real_column[next_real++];
    } else {
      point.value = std::move(text_column[next_text++]);
    }
  }
  return points;
}

}  // namespace flor::store
