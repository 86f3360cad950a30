#include "imports/event_reader.h"

#include "base/little_endian.h"
#include "base/text.h"
#include "export/crc32c.h"
#include "export/protobuf.h"
#include "file/filesystem.h"
#include "imports/value_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::cli {
namespace {

using Wire = ProtoReader::Wire;

/// Length and checksum of the length; behind the message comes its checksum.
constexpr std::uint64_t kHeadBytes = 12, kTailBytes = 4;
/// Larger messages, which hold pictures or graphs, are passed over.
constexpr std::uint64_t kMessageMax = std::uint64_t{64} << 20;
/// Text of an argument that is kept.
constexpr std::size_t kArgumentMax = 4096;

template <std::unsigned_integral T>
T number_at(std::string_view bytes, std::size_t at) {
  return store::get<T>(std::as_bytes(std::span(bytes.substr(at))));
}

bool has_checksum(std::string_view bytes, std::uint32_t masked) {
  return masked_crc32c(bytes) == masked;
}

/// Unix time; nullopt for what is no time.
std::optional<std::int64_t> micros(double seconds) {
  constexpr double kSecondsMax = 9e9;
  if (!(seconds > 0) || seconds > kSecondsMax) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(seconds * 1e6));
}

/// TensorFlow's DataType, of the types that a scalar may have.
enum class DataType : std::uint64_t {
  float32 = 1,
  float64 = 2,
  int32 = 3,
  int64 = 9,
  boolean = 10
};

struct Number {
  store::ValueType type = store::ValueType::real;
  store::Scalar value;
};

Number real(double value) { return {store::ValueType::real, value}; }
Number integer(std::int64_t value) { return {store::ValueType::integer, value}; }

bool has_no_dimensions(std::string_view shape) {
  ProtoReader reader(shape);
  while (reader.next()) {
    if (reader.is(2, Wire::bytes)) return false;
  }
  return !reader.is_malformed();
}

/// A scalar out of the bytes of a tensor.
std::optional<Number> from_content(DataType type, std::string_view content) {
  const bool is_wide = type == DataType::float64 || type == DataType::int64;
  const std::size_t size = type == DataType::boolean ? 1 : is_wide ? 8 : 4;
  if (content.size() != size) return std::nullopt;
  const std::uint64_t bits = size == 8   ? number_at<std::uint64_t>(content, 0)
                             : size == 4 ? number_at<std::uint32_t>(content, 0)
                                         : number_at<std::uint8_t>(content, 0);
  switch (type) {
    case DataType::float32:
      return real(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DataType::float64:
      return real(std::bit_cast<double>(bits));
    case DataType::int32:
      return integer(static_cast<std::int32_t>(bits));
    case DataType::int64:
      return integer(static_cast<std::int64_t>(bits));
    case DataType::boolean:
      return Number{store::ValueType::boolean, static_cast<std::int64_t>(bits != 0)};
  }
  return std::nullopt;
}

/// The one value of a field of numbers, which may be packed.
std::optional<Number> from_field(DataType type, const ProtoReader& field) {
  const bool is_varint = type != DataType::float32 && type != DataType::float64;
  std::uint64_t bits = field.number();
  if (field.is(5, Wire::bytes) || field.is(6, Wire::bytes)) {
    return from_content(type, field.bytes());
  }
  if (is_varint &&
      (field.is(7, Wire::bytes) || field.is(10, Wire::bytes) || field.is(11, Wire::bytes))) {
    // A packed list of one varint is that varint.
    const std::string message = std::string(1, '\x08') + std::string(field.bytes());
    ProtoReader packed(message);
    if (!packed.next()) return std::nullopt;
    bits = packed.number();
    if (packed.next()) return std::nullopt;
  }
  switch (type) {
    case DataType::float32:
      return real(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DataType::float64:
      return real(std::bit_cast<double>(bits));
    case DataType::int32:
    case DataType::int64:
      return integer(static_cast<std::int64_t>(bits));
    case DataType::boolean:
      return Number{store::ValueType::boolean, static_cast<std::int64_t>(bits != 0)};
  }
  return std::nullopt;
}

/// The field of a TensorProto that has its numbers.
std::uint64_t field_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return 5;
    case DataType::float64:
      return 6;
    case DataType::int32:
      return 7;
    case DataType::int64:
      return 10;
    case DataType::boolean:
      return 11;
  }
  return 0;
}

std::optional<Number> tensor_scalar(std::string_view tensor) {
  std::uint64_t type = 0;
  ProtoReader first(tensor);
  while (first.next()) {
    if (first.is(1, Wire::varint)) type = first.number();
    if (first.is(2, Wire::bytes) && !has_no_dimensions(first.bytes())) return std::nullopt;
  }
  const auto data = static_cast<DataType>(type);
  if (first.is_malformed() || field_of(data) == 0) return std::nullopt;
  std::optional<Number> found;
  for (ProtoReader reader(tensor); reader.next();) {
    std::optional<Number> number;
    if (reader.is(4, Wire::bytes) && !reader.bytes().empty()) {
      number = from_content(data, reader.bytes());
    } else if (reader.is(field_of(data), Wire::bytes) || reader.is(field_of(data), Wire::varint) ||
               reader.is(field_of(data), Wire::fixed32) ||
               reader.is(field_of(data), Wire::fixed64)) {
      number = from_field(data, reader);
    } else {
      continue;
    }
    if (found || !number) return std::nullopt;
    found = number;
  }
  return found;
}

/// A google.protobuf.Value that is a number, a text or a boolean, as an argument.
std::optional<store::Argument> argument_of(std::string_view entry) {
  std::string_view name, value;
  for (ProtoReader reader(entry); reader.next();) {
    if (reader.is(1, Wire::bytes)) name = reader.bytes();
    if (reader.is(2, Wire::bytes)) value = reader.bytes();
  }
  if (name.empty() || name.size() > kArgumentMax) return std::nullopt;
  for (ProtoReader reader(value); reader.next();) {
    if (reader.is(2, Wire::fixed64)) return number_argument(name, reader.real());
    if (reader.is(3, Wire::bytes))
      return text_argument(name, reader.bytes().substr(0, kArgumentMax));
    if (reader.is(4, Wire::varint)) return boolean_argument(name, reader.number() != 0);
  }
  return std::nullopt;
}

class EventReader {
 public:
  EventReader(const store::File& file, const std::string& name, LoggedRun& run)
      : file_(file), name_(name), run_(run), size_(file.size()) {}

  void read() {
    std::uint64_t at = 0;
    while (at < size_) {
      const std::uint64_t next = frame(at);
      if (next == 0) break;
      at = next;
    }
    say_what_is_left_out();
  }

 private:
  /// Reads the frame at this offset; returns where the next one begins, 0 if none can follow.
  std::uint64_t frame(std::uint64_t at) {
    const std::string_view head = bytes_at(at, kHeadBytes);
    if (head.size() < kHeadBytes) return cut_off(at);
    const std::uint64_t length = number_at<std::uint64_t>(head, 0);
    if (!has_checksum(head.substr(0, 8), number_at<std::uint32_t>(head, 8)))
      return damaged(at, "the length");
    const std::uint64_t rest = size_ - at - kHeadBytes;
    if (rest < kTailBytes || length > rest - kTailBytes) return cut_off(at);
    const std::uint64_t next = at + kHeadBytes + length + kTailBytes;
    if (length > kMessageMax) {
      ++others_;
      return next;
    }
    const std::string_view body = bytes_at(at + kHeadBytes, length + kTailBytes);
    if (body.size() < length + kTailBytes) return cut_off(at);
    const std::string_view message = body.substr(0, length);
    if (!has_checksum(message, number_at<std::uint32_t>(body, length)))
      return damaged(at, "an event");
    event(message);
    return next;
  }

  std::string_view bytes_at(std::uint64_t offset, std::uint64_t count) {
    if (offset >= begin_ && offset + count <= begin_ + buffer_.size()) {
      return std::string_view(buffer_).substr(offset - begin_, count);
    }
    constexpr std::uint64_t kAhead = std::uint64_t{1} << 20;
    buffer_.resize(std::min(std::max(count, kAhead), size_ - offset));
    begin_ = offset;
    buffer_.resize(file_.read_at(std::as_writable_bytes(std::span(buffer_)), offset));
    return std::string_view(buffer_).substr(0, count);
  }

  std::uint64_t cut_off(std::uint64_t at) {
    run_.remark(fmt::format("{} ends in the middle of an event: its last {} are left out", name_,
                            store::print_bytes(size_ - at)));
    return 0;
  }

  std::uint64_t damaged(std::uint64_t at, const char* what) {
    run_.remark(
        fmt::format("{} is damaged at byte {}: {} does not have its checksum; what follows is left "
                    "out",
                    name_, at, what));
    return 0;
  }

  void event(std::string_view message) {
    double wall_time = 0;
    std::int64_t step = 0;
    std::string_view summary;
    ProtoReader reader(message);
    while (reader.next()) {
      if (reader.is(1, Wire::fixed64)) wall_time = reader.real();
      if (reader.is(2, Wire::varint)) step = static_cast<std::int64_t>(reader.number());
      if (reader.is(5, Wire::bytes)) summary = reader.bytes();
    }
    if (reader.is_malformed()) {
      ++malformed_;
      return;
    }
    const bool has_step = step >= 0 && step <= kLoggedStepMax;
    const LoggedPlace place = has_step ? LoggedPlace{0, step} : LoggedPlace{};
    has_values_ = false;
    if (!summary.empty()) values(summary, place);
    if (!has_step && has_values_ && unplaced_++ == 0) first_unplaced_ = step;
    if (const auto time = micros(wall_time)) {
      run_.notice_time(summary.empty() ? LoggedPlace{} : place, *time);
    }
  }

  void values(std::string_view summary, const LoggedPlace& place) {
    ProtoReader reader(summary);
    while (reader.next()) {
      if (reader.is(1, Wire::bytes)) value(reader.bytes(), place);
    }
    malformed_ += reader.is_malformed() ? 1 : 0;
  }

  void value(std::string_view message, const LoggedPlace& place) {
    std::string_view tag;
    std::optional<Number> number;
    std::string_view metadata;
    bool has_other = false;
    ProtoReader reader(message);
    while (reader.next()) {
      if (reader.is(1, Wire::bytes)) tag = reader.bytes();
      if (reader.is(2, Wire::fixed32)) number = real(reader.real32());
      if (reader.is(8, Wire::bytes)) {
        number = tensor_scalar(reader.bytes());
        has_other = !number;
      }
      if (reader.is(9, Wire::bytes)) metadata = reader.bytes();
      has_other = has_other || reader.is(4, Wire::bytes) || reader.is(5, Wire::bytes) ||
                  reader.is(6, Wire::bytes);
    }
    if (reader.is_malformed()) {
      ++malformed_;
    } else if (!metadata.empty() && hyperparameters(metadata)) {
      return;
    } else if (!number) {
      others_ += has_other ? 1 : 0;
    } else if (LoggedSeries* series = run_.series(tag)) {
      series->add(place, number->type, std::move(number->value));
      has_values_ = true;
    }
  }

  /// Returns true if the metadata is of the plug-in hparams, whose data it then has read.
  bool hyperparameters(std::string_view metadata) {
    std::string_view plugin, name, content;
    for (ProtoReader reader(metadata); reader.next();) {
      if (reader.is(1, Wire::bytes)) plugin = reader.bytes();
    }
    for (ProtoReader reader(plugin); reader.next();) {
      if (reader.is(1, Wire::bytes)) name = reader.bytes();
      if (reader.is(2, Wire::bytes)) content = reader.bytes();
    }
    if (name != "hparams") return false;
    for (ProtoReader reader(content); reader.next();) {
      if (reader.is(3, Wire::bytes)) session_start(reader.bytes());
      if (reader.is(4, Wire::bytes)) session_end(reader.bytes());
    }
    return true;
  }

  void session_start(std::string_view message) {
    for (ProtoReader reader(message); reader.next();) {
      if (reader.is(1, Wire::bytes)) {
        if (auto argument = argument_of(reader.bytes())) set_argument(run_.arguments, *argument);
      } else if (reader.is(5, Wire::fixed64)) {
        if (const auto time = micros(reader.real())) run_.notice_time({}, *time);
      }
    }
  }

  /// An end without a time is written when the session begins (PyTorch's `add_hparams` does so),
  /// and says nothing.
  void session_end(std::string_view message) {
    constexpr std::uint64_t kSuccess = 1, kFailure = 2;
    std::uint64_t status = 0;
    std::optional<std::int64_t> at_us;
    for (ProtoReader reader(message); reader.next();) {
      if (reader.is(1, Wire::varint)) status = reader.number();
      if (reader.is(2, Wire::fixed64)) at_us = micros(reader.real());
    }
    if (!at_us || (status != kSuccess && status != kFailure)) return;
    run_.end = LoggedRun::End{.at_us = *at_us, .failed = status == kFailure};
  }

  void say_what_is_left_out() {
    if (others_ > 0) {
      run_.remark(
          fmt::format("{}: {} value{} that {} no scalar{}, such as pictures and texts, {} "
                      "left out",
                      name_, others_, others_ == 1 ? "" : "s", others_ == 1 ? "is" : "are",
                      others_ == 1 ? "" : "s", others_ == 1 ? "is" : "are"));
    }
    if (unplaced_ > 0) {
      run_.remark(fmt::format(
          "{}: {} event{} a step that is none, the first is {}: the values are kept "
          "without a place, as a step is a whole number up to {}",
          name_, unplaced_, unplaced_ == 1 ? " has" : "s have", first_unplaced_, kLoggedStepMax));
    }
    if (malformed_ > 0) {
      run_.remark(fmt::format("{}: {} malformed event{} left out", name_, malformed_,
                              malformed_ == 1 ? " is" : "s are"));
    }
  }

  const store::File& file_;
  const std::string& name_;
  LoggedRun& run_;
  std::uint64_t size_;  ///< it may be growing
  std::string buffer_;
  std::uint64_t begin_ = 0;
  bool has_values_ = false;  ///< the event that is read
  std::int64_t others_ = 0, malformed_ = 0, unplaced_ = 0, first_unplaced_ = 0;
};

}  // namespace

bool is_event_file(const store::File& file) {
  std::string head(kHeadBytes, '\0');
  if (file.read_at(std::as_writable_bytes(std::span(head)), 0) < kHeadBytes) return false;
  return has_checksum(std::string_view(head).substr(0, 8), number_at<std::uint32_t>(head, 8));
}

void read_events(const store::File& file, const std::string& name, LoggedRun& run) {
  EventReader(file, name, run).read();
}

}  // namespace flor::cli
