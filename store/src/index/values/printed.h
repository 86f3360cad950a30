// The output of a program while it was recorded: pieces of text with their places and times, in the
// order in which they were printed. They are kept as values of a series of their own, which no
// question about values sees unless it names that.
#pragma once

#include "index/values/own_series.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

struct Printed {
  /// `both`: standard output and standard error, where they go to the same place. `gap`: nothing is
  /// kept here; `text` is the number of bytes.
  enum class Stream : std::uint8_t { both, out, error, gap };

  Place place;               ///< without a step: the loop, and the epoch
  std::int64_t number = 0;   ///< in the order of printing, over the whole run
  std::int64_t time_us = 0;  ///< of its first byte
  Stream stream = Stream::both;
  std::string text;  ///< any bytes
};
std::string_view to_string(Printed::Stream stream);  ///< "output", "stdout", "stderr", "gap"

Value value_of(Printed printed);
/// The pieces of these epochs, in the order of printing; -1: outside of the loops. Passes over
/// values that no recording wrote.
std::vector<Printed> read_printed(const Catalog& catalog, std::int64_t run,
                                  std::int64_t first_epoch = -1,
                                  std::int64_t last_epoch = INT64_MAX);

}  // namespace flor::store
