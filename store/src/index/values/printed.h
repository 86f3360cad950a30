// The text that a program printed while it was recorded: pieces of text with place and time, in the
// order of printing. They are stored as values of a separate series, which queries for values
// return only if they name it.
#pragma once

#include "index/values/own_series.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

struct Printed {
  /// `both`: standard output and standard error, which went to the same file. `gap`: output that
  /// was not kept; `text` is its number of bytes.
  enum class Stream : std::uint8_t { both, out, error, gap };

  Place place;               ///< the loop and the epoch, without a step
  std::int64_t number = 0;   ///< position in the order of printing, over the whole run
  std::int64_t time_us = 0;  ///< when its first byte was printed, Unix microseconds
  Stream stream = Stream::both;
  std::string text;  ///< any bytes, not necessarily UTF-8
};
std::string_view to_string(Printed::Stream stream);  ///< "output", "stdout", "stderr", "gap"

/// Keys and tokens that are known by their form are masked in the text.
Value value_of(Printed printed);
/// Returns the pieces printed in these epochs (-1: outside the loops), in the order of printing.
/// Skips values of the series that no recording wrote.
std::vector<Printed> read_printed(const Catalog& catalog, std::int64_t run,
                                  std::int64_t first_epoch = -1,
                                  std::int64_t last_epoch = INT64_MAX);

}  // namespace flor::store
