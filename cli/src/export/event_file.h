// Writes event files for TensorBoard: messages of type Event in TFRecord frames.
#pragma once

#include "output/stream.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace flor::cli {

/// The step and the time of an event. Times are Unix time in microseconds.
struct EventPlace {
  std::int64_t step = 0;
  std::int64_t time_us = 0;
};

/// Histogram: `edges` has one element more than `counts`; neither is empty.
struct HistogramBins {
  std::span<const double> edges, counts;
};

struct EncodedImage {
  std::int64_t height = 0, width = 0, channels = 0;
  std::string_view png;
};

/// Writes events in the order of the calls. Field numbers are those of TensorFlow's event.proto,
/// summary.proto and tensor.proto.
class EventFile {
 public:
  /// Writes the header of the file.
  EventFile(Output& out, std::int64_t started_us);

  /// Writes a number as a 32-bit float, as TensorBoard has it; a larger one becomes infinite.
  void scalar(std::string_view tag, EventPlace place, double value);
  /// Writes a histogram. Its sum and sum of squares are computed from the middles of the bins.
  void histogram(std::string_view tag, EventPlace place, const HistogramBins& bins);
  void image(std::string_view tag, EventPlace place, const EncodedImage& image);
  /// Writes a text, which TensorBoard renders as Markdown.
  void text(std::string_view tag, EventPlace place, std::string_view text);

 private:
  void record(std::string_view message);

  Output& out_;
};

}  // namespace flor::cli
