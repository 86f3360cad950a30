#include "export/event_file.h"

#include "export/crc32c.h"
#include "export/protobuf.h"

#include <limits>
#include <string>

namespace flor::cli {
namespace {

std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

ProtoMessage event_at(EventPlace place) {
  ProtoMessage event;
  event.fixed64(1, static_cast<double>(place.time_us) * 1e-6);
  event.varint(2, static_cast<std::uint64_t>(place.step));
  return event;
}

std::string event_with(EventPlace place, const ProtoMessage& value) {
  ProtoMessage summary;
  summary.message(1, value);
  ProtoMessage event = event_at(place);
  event.message(5, summary);
  return event.content();
}

ProtoMessage value_of(std::string_view tag) {
  ProtoMessage value;
  value.bytes(1, tag);
  return value;
}

float narrowed(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (value > kLargest) return kInfinity;
  if (value < -kLargest) return -kInfinity;
  return static_cast<float>(value);
}

}  // namespace

EventFile::EventFile(Output& out, std::int64_t started_us) : out_(out) {
  ProtoMessage event;
  event.fixed64(1, static_cast<double>(started_us) * 1e-6);
  event.bytes(3, "brain.Event:2");
  record(event.content());
}

void EventFile::record(std::string_view message) {
  const std::string length = little_endian(message.size(), 8);
  out_.write(length);
  out_.write(little_endian(masked_crc32c(length), 4));
  out_.write(message);
  out_.write(little_endian(masked_crc32c(message), 4));
}

void EventFile::scalar(std::string_view tag, EventPlace place, double number) {
  ProtoMessage value = value_of(tag);
  value.fixed32(2, narrowed(number));
  record(event_with(place, value));
}

void EventFile::histogram(std::string_view tag, EventPlace place, const HistogramBins& bins) {
  double count = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double middle = bins.edges[i] / 2 + bins.edges[i + 1] / 2;
    count += bins.counts[i];
    sum += bins.counts[i] * middle;
    squares += bins.counts[i] * middle * middle;
  }
  ProtoMessage histogram;
  histogram.fixed64(1, bins.edges.front());
  histogram.fixed64(2, bins.edges.back());
  histogram.fixed64(3, count);
  histogram.fixed64(4, sum);
  histogram.fixed64(5, squares);
  histogram.fixed64s(6, bins.edges.subspan(1));
  histogram.fixed64s(7, bins.counts);
  ProtoMessage value = value_of(tag);
  value.message(5, histogram);
  record(event_with(place, value));
}

void EventFile::image(std::string_view tag, EventPlace place, const EncodedImage& encoded) {
  ProtoMessage image;
  image.varint(1, static_cast<std::uint64_t>(encoded.height));
  image.varint(2, static_cast<std::uint64_t>(encoded.width));
  image.varint(3, static_cast<std::uint64_t>(encoded.channels));
  image.bytes(4, encoded.png);
  ProtoMessage value = value_of(tag);
  value.message(4, image);
  record(event_with(place, value));
}

void EventFile::text(std::string_view tag, EventPlace place, std::string_view text) {
  constexpr std::uint64_t kStrings = 7;  // TensorFlow's DT_STRING
  ProtoMessage plugin, metadata, size, shape, tensor;
  plugin.bytes(1, "text");
  metadata.message(1, plugin);
  size.varint(1, 1);
  shape.message(2, size);
  tensor.varint(1, kStrings);
  tensor.message(2, shape);
  tensor.bytes(8, text);
  ProtoMessage value = value_of(tag);
  value.message(8, tensor);
  value.message(9, metadata);
  record(event_with(place, value));
}

}  // namespace flor::cli
