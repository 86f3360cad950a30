// Fields: the encoding of structs in the payloads of journal frames. A type lists its fields once,
// and the list is used for both writing and reading:
//
//   template <class F>
//   void fields(F& f, Argument& argument) {
//     f(1, argument.name);
//     f(2, argument.type);
//   }
//
//   field = u16 number, u16 0, u32 length, the bytes
//
// False and empty values are not written. A reader skips field numbers that it does not know and
// leaves absent fields unchanged, so that fields can be added later. The elements of a list are
// encoded as consecutive fields; digests are concatenated in one field. docs/internals/format.md
// describes the bytes.
#pragma once

#include "base/little_endian.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor::store {

inline constexpr std::size_t kFieldHeaderBytes = 8;

/// A type that is encoded by its own list of fields.
template <typename T>
concept Structured = std::is_class_v<T> && !std::same_as<T, std::string> &&
                     !std::same_as<T, Digest> && !std::same_as<T, RecordedCommand> &&
                     !std::same_as<T, RecordedText>;

class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}

  void operator()(std::uint16_t number, bool value) {
    if (value) integer(number, 1);
  }
  template <std::integral T>
  void operator()(std::uint16_t number, T value) {
    integer(number, static_cast<std::uint64_t>(value));
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(std::uint16_t number, T value) {
    integer(number, static_cast<std::uint64_t>(value));
  }
  void operator()(std::uint16_t number, double value) {
    integer(number, std::bit_cast<std::uint64_t>(value));
  }
  void operator()(std::uint16_t number, const std::string& value) {
    if (!value.empty()) bytes(number, std::as_bytes(std::span(value)));
  }
  void operator()(std::uint16_t number, const Digest& value) {
    bytes(number, std::as_bytes(std::span(value.bytes)));
  }
  void operator()(std::uint16_t number, const std::vector<std::byte>& value) {
    if (!value.empty()) bytes(number, value);
  }
  void operator()(std::uint16_t number, const std::vector<Digest>& value) {
    if (!value.empty()) bytes(number, std::as_bytes(std::span(value)));
  }
  void operator()(std::uint16_t number, const RecordedCommand& value) {
    list(number, value.words());
  }
  void operator()(std::uint16_t number, const RecordedText& value) {
    (*this)(number, value.text());
  }
  template <typename T>
  void operator()(std::uint16_t number, const std::vector<T>& value) {
    list(number, value);
  }
  template <typename T>
  void operator()(std::uint16_t number, const std::map<std::string, T>& value) {
    for (const auto& [key, mapped] : value) {
      const std::size_t begin = open(number);
      (*this)(1, key);
      (*this)(2, mapped);
      close(begin);
    }
  }
  /// An absent value is not written, so that it differs from a default value.
  template <typename T>
  void operator()(std::uint16_t number, const std::optional<T>& value) {
    if (!value) return;
    const std::size_t begin = open(number);
    (*this)(1, *value);
    close(begin);
  }
  template <Structured T>
  void operator()(std::uint16_t number, const T& value) {
    const std::size_t begin = open(number);
    fields(*this, const_cast<T&>(value));  // not modified: `fields` takes a mutable reference
                                           // because it is used for reading, too
    close(begin);
  }

 private:
  template <typename T>
  void list(std::uint16_t number, const std::vector<T>& values) {
    for (const T& value : values) {
      const std::size_t begin = open(number);
      if constexpr (Structured<T>) {
        fields(*this, const_cast<T&>(value));
      } else {
        (*this)(1, value);
      }
      close(begin);
    }
  }
  void integer(std::uint16_t number, std::uint64_t value) {
    const std::size_t begin = open(number);
    append(out_, value);
    close(begin);
  }
  void bytes(std::uint16_t number, std::span<const std::byte> value) {
    const std::size_t begin = open(number);
    out_.insert(out_.end(), value.begin(), value.end());
    close(begin);
  }
  std::size_t open(std::uint16_t number) {
    append(out_, number);
    append(out_, std::uint16_t{0});
    append(out_, std::uint32_t{0});
    return out_.size();
  }
  void close(std::size_t begin) {
    put(std::span(out_).subspan(begin - 4), static_cast<std::uint32_t>(out_.size() - begin));
  }

  std::vector<std::byte>& out_;
};

/// Reads what FieldWriter wrote. Throws Damaged if the bytes are not fields. Allocates memory in
/// proportion to the number of bytes, whatever lengths they claim.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> payload) {
    while (!payload.empty()) {
      if (payload.size() < kFieldHeaderBytes) refuse();
      const auto number = get<std::uint16_t>(payload);
      const auto length = get<std::uint32_t>(payload.subspan(4));
      payload = payload.subspan(kFieldHeaderBytes);
      if (length > payload.size()) refuse();
      fields_.emplace_back(number, payload.first(length));
      payload = payload.subspan(length);
    }
  }

  void operator()(std::uint16_t number, bool& value) const {
    if (const auto* found = find(number)) value = integer(*found) != 0;
  }
  template <std::integral T>
  void operator()(std::uint16_t number, T& value) const {
    if (const auto* found = find(number)) value = static_cast<T>(integer(*found));
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(std::uint16_t number, T& value) const {
    if (const auto* found = find(number)) value = static_cast<T>(integer(*found));
  }
  void operator()(std::uint16_t number, double& value) const {
    if (const auto* found = find(number)) value = std::bit_cast<double>(integer(*found));
  }
  void operator()(std::uint16_t number, std::string& value) const {
    if (const auto* found = find(number)) {
      value.assign(reinterpret_cast<const char*>(found->data()), found->size());
    }
  }
  void operator()(std::uint16_t number, Digest& value) const {
    const auto* found = find(number);
    if (!found) return;
    if (found->size() != value.bytes.size()) refuse();
    std::memcpy(value.bytes.data(), found->data(), found->size());
  }
  void operator()(std::uint16_t number, std::vector<std::byte>& value) const {
    if (const auto* found = find(number)) value.assign(found->begin(), found->end());
  }
  void operator()(std::uint16_t number, std::vector<Digest>& value) const {
    const auto* found = find(number);
    if (!found) return;
    if (found->size() % sizeof(Digest) != 0) refuse();
    value.resize(found->size() / sizeof(Digest));
    if (!value.empty()) std::memcpy(value.data(), found->data(), found->size());
  }
  void operator()(std::uint16_t number, RecordedCommand& value) const {
    std::vector<std::string> words;
    list(number, words);
    if (!words.empty()) value = RecordedCommand(words);
  }
  void operator()(std::uint16_t number, RecordedText& value) const {
    std::string text;
    (*this)(number, text);
    value = RecordedText(text);
  }
  template <typename T>
  void operator()(std::uint16_t number, std::vector<T>& value) const {
    list(number, value);
  }
  template <typename T>
  void operator()(std::uint16_t number, std::map<std::string, T>& value) const {
    for (const auto& field : fields_) {
      if (field.first != number) continue;
      const FieldReader entry(field.second);
      std::string key;
      T mapped{};
      entry(1, key);
      entry(2, mapped);
      value.insert_or_assign(std::move(key), std::move(mapped));
    }
  }
  template <typename T>
  void operator()(std::uint16_t number, std::optional<T>& value) const {
    const auto* found = find(number);
    if (!found) return;
    const FieldReader inner(*found);
    inner(1, value.emplace());
  }
  template <Structured T>
  void operator()(std::uint16_t number, T& value) const {
    const auto* found = find(number);
    if (!found) return;
    FieldReader inner(*found);
    fields(inner, value);
  }

 private:
  using Payload = std::span<const std::byte>;

  template <typename T>
  void list(std::uint16_t number, std::vector<T>& values) const {
    for (const auto& field : fields_) {
      if (field.first != number) continue;
      FieldReader inner(field.second);
      T& value = values.emplace_back();
      if constexpr (Structured<T>) {
        fields(inner, value);
      } else {
        inner(1, value);
      }
    }
  }
  const Payload* find(std::uint16_t number) const {
    const auto found =
        std::ranges::find(fields_, number, &std::pair<std::uint16_t, Payload>::first);
    return found == fields_.end() ? nullptr : &found->second;
  }
  static std::uint64_t integer(Payload bytes) {
    if (bytes.size() != sizeof(std::uint64_t)) refuse();
    return get<std::uint64_t>(bytes);
  }
  [[noreturn]] static void refuse() {
    throw Damaged("a frame of a journal cannot be read: run `flor fsck`");
  }

  std::vector<std::pair<std::uint16_t, Payload>> fields_;
};

/// Returns the encoded fields of `value`.
template <Structured T>
std::vector<std::byte> write_fields(const T& value) {
  std::vector<std::byte> out;
  FieldWriter writer(out);
  fields(writer, const_cast<T&>(value));  // not modified
  return out;
}

template <Structured T>
T read_fields(std::span<const std::byte> payload) {
  T value;
  FieldReader reader(payload);
  fields(reader, value);
  return value;
}

}  // namespace flor::store
