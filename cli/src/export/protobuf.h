// Messages in the wire format of Protocol Buffers, as far as event files need it:
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <bit>
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

}  // namespace flor::cli
