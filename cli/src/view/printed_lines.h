// Reads the lines that a run printed, for text and JSON.
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
  store::Place place;        ///< where its first byte was printed
  std::int64_t time_us = 0;  ///< when its first byte was printed
  store::Printed::Stream stream = store::Printed::Stream::both;
  std::string text;          ///< without its line end; of a gap, the number of missing bytes
  bool overwritten = false;  ///< ends in \r, so that a terminal shows the next line in its place

  bool is_gap() const { return stream == store::Printed::Stream::gap; }
};

/// Joins the pieces of each stream into lines, ordered by the beginnings of the lines.
std::vector<PrintedLine> lines_of(const std::vector<store::Printed>& pieces);

struct PrintedQuestion {
  EpochRange epochs{.first = -1};
  std::optional<Pattern> grep;  ///< only lines in which it is found, including overwritten ones
};
/// The lines of a run; without a pattern, those that a terminal would still show.
std::vector<PrintedLine> printed_lines(const store::Store& store, const store::Run& run,
                                       const PrintedQuestion& question);

/// The text, safe to print; of a gap "12,288 bytes are missing here: the run keeps 16 MiB of what
/// it prints".
std::string line_text(const PrintedLine& line);
Json line_json(const PrintedLine& line);

}  // namespace flor::cli
