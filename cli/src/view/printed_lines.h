// The lines that a run printed, as text and JSON.
#pragma once

#include "choose/pattern.h"
#include "choose/run_spec.h"
#include "index/values/printed.h"
#include "output/json.h"

#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct PrintedLine {
  store::Place place;        ///< of its first byte
  std::int64_t time_us = 0;  ///< likewise
  store::Printed::Stream stream = store::Printed::Stream::both;
  std::string text;          ///< without its end; of a gap the number of bytes
  bool overwritten = false;  ///< a terminal shows the next one in its place: it ends in \r

  bool is_gap() const { return stream == store::Printed::Stream::gap; }
};

/// Joins pieces to lines: each stream for itself, in the order in which the lines begin.
std::vector<PrintedLine> lines_of(const std::vector<store::Printed>& pieces);

struct PrintedQuestion {
  EpochRange epochs{.first = -1};
  std::optional<Pattern> grep;  ///< lines in which it is found, overwritten ones, too
};
/// Without a pattern what a terminal would show.
std::vector<PrintedLine> printed_lines(const store::Store& store, const store::Run& run,
                                       const PrintedQuestion& question);

/// "12,288 bytes are missing here: the run keeps 16 MiB of what it prints", for a gap; else the
/// text, safe to show.
std::string line_text(const PrintedLine& line);
Json line_json(const PrintedLine& line);

}  // namespace flor::cli
