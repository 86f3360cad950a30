// Messages in the wire format of Protocol Buffers, written and read as far as event files need it:
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

/// Writes fields in the order of the calls. A nested message is written as `bytes`.
class ProtoMessage {
 public:
  void varint(int field, std::uint64_t value) {
    key(field, 0);
    put_varint(value);
  }
  void fixed64(int field, double value) {
    key(field, 1);
    put_fixed(std::bit_cast<std::uint64_t>(value), 8);
  }
  void fixed32(int field, float value) {
    key(field, 5);
    put_fixed(std::bit_cast<std::uint32_t>(value), 4);
  }
  void bytes(int field, std::string_view content) {
    key(field, 2);
    put_varint(content.size());
    content_ += content;
  }
  void message(int field, const ProtoMessage& other) { bytes(field, other.content_); }
  /// Writes repeated numbers in packed form.
  void fixed64s(int field, std::span<const double> values) {
    key(field, 2);
    put_varint(values.size() * 8);
    for (const double value : values) put_fixed(std::bit_cast<std::uint64_t>(value), 8);
  }
  const std::string& content() const { return content_; }

 private:
  void key(int field, unsigned type) { put_varint(static_cast<std::uint64_t>(field) << 3 | type); }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) content_ += static_cast<char>(value | 0x80);
    content_ += static_cast<char>(value);
  }
  void put_fixed(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) content_ += static_cast<char>(value >> (8 * i));
  }

  std::string content_;
};

/// Reads the fields of a message of any origin, one after the other. Takes no memory.
class ProtoReader {
 public:
  /// The wire types that it knows; a message with another one, such as a group, is malformed.
  enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  explicit ProtoReader(std::string_view message) : rest_(message) {}

  /// Goes to the next field; false after the last one, and where the message is malformed.
  bool next() {
    std::uint64_t key = 0;
    if (rest_.empty() || !take_varint(key)) return false;
    field_ = key >> 3;
    wire_ = static_cast<Wire>(key & 7);
    switch (wire_) {
      case Wire::varint:
        return take_varint(number_);
      case Wire::fixed64:
        return take_fixed(8);
      case Wire::fixed32:
        return take_fixed(4);
      case Wire::bytes: {
        std::uint64_t size = 0;
        if (!take_varint(size)) return false;
        if (size > rest_.size()) return fail();
        bytes_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
    }
    return fail();
  }
  bool is_malformed() const { return malformed_; }

  /// True if the field has this number and wire type.
  bool is(std::uint64_t field, Wire wire) const { return field_ == field && wire_ == wire; }
  std::uint64_t number() const { return number_; }  ///< of a varint, or the bits of a fixed number
  double real() const { return std::bit_cast<double>(number_); }  ///< of fixed64
  float real32() const {                                          ///< of fixed32
    return std::bit_cast<float>(static_cast<std::uint32_t>(number_));
  }
  std::string_view bytes() const { return bytes_; }

 private:
  bool fail() {
    malformed_ = true;
    return false;
  }
  bool take_varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }
  bool take_fixed(std::size_t size) {
    if (rest_.size() < size) return fail();
    number_ = 0;
    for (std::size_t i = 0; i < size; ++i) {
      number_ |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    }
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_, bytes_;
  std::uint64_t field_ = 0, number_ = 0;
  Wire wire_ = Wire::varint;
  bool malformed_ = false;
};

}  // namespace flor::cli
