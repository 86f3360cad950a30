// Event files, byte by byte, for tests of what reads them.
#pragma once

#include "export/crc32c.h"
#include "export/protobuf.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace flor::testing {

inline std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// A TFRecord frame.
inline std::string frame(std::string_view message) {
  const std::string length = little_endian(message.size(), 8);
  return length + little_endian(cli::masked_crc32c(length), 4) + std::string(message) +
         little_endian(cli::masked_crc32c(message), 4);
}

/// The frame of an event with this value, a Summary.Value.
inline std::string event(double wall_time, std::int64_t step, const cli::ProtoMessage& value) {
  cli::ProtoMessage summary, message;
  summary.message(1, value);
  message.fixed64(1, wall_time);
  message.varint(2, static_cast<std::uint64_t>(step));
  message.message(5, summary);
  return frame(message.content());
}

inline std::string scalar(double wall_time, std::int64_t step, std::string_view tag, float number) {
  cli::ProtoMessage value;
  value.bytes(1, tag);
  value.fixed32(2, number);
  return event(wall_time, step, value);
}

/// A scalar as TensorFlow 2 writes it: a tensor of floats without dimensions.
inline std::string tensor_scalar(double wall_time, std::int64_t step, std::string_view tag,
                                 float number) {
  cli::ProtoMessage tensor, value;
  tensor.varint(1, 1);
  tensor.message(2, {});
  tensor.bytes(4, little_endian(std::bit_cast<std::uint32_t>(number), 4));
  value.bytes(1, tag);
  value.message(8, tensor);
  return event(wall_time, step, value);
}

/// An event of the plug-in hparams with this content of its HParamsPluginData.
inline std::string hparams_event(double wall_time, const cli::ProtoMessage& data,
                                 std::string_view tag) {
  cli::ProtoMessage plugin, metadata, value;
  plugin.bytes(1, "hparams");
  plugin.message(2, data);
  metadata.message(1, plugin);
  value.bytes(1, tag);
  value.message(9, metadata);
  return event(wall_time, 0, value);
}

/// An entry of the map of hyperparameters.
inline cli::ProtoMessage hparam(std::string_view name, const cli::ProtoMessage& value) {
  cli::ProtoMessage entry;
  entry.bytes(1, name);
  entry.message(2, value);
  return entry;
}

inline std::string session_start(double wall_time) {
  cli::ProtoMessage real, text, flag, start, data;
  real.fixed64(2, 0.01);
  text.bytes(3, "adam");
  flag.varint(4, 1);
  start.message(1, hparam("lr", real));
  start.message(1, hparam("optimizer", text));
  start.message(1, hparam("nesterov", flag));
  data.message(3, start);
  return hparams_event(wall_time, data, "_hparams_/session_start_info");
}

/// `at` 0: no time, as PyTorch writes it at the beginning.
inline std::string session_end(double wall_time, std::uint64_t status, double at) {
  cli::ProtoMessage end, data;
  end.varint(1, status);
  if (at > 0) end.fixed64(2, at);
  data.message(4, end);
  return hparams_event(wall_time, data, "_hparams_/session_end_info");
}

}  // namespace flor::testing
