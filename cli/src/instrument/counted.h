// A `for` that counts, as the range of integers that it counts over. Only where both surely have
// the same values: whatever C++ does with signs, sizes and steps that overflow is no range.
#pragma once

#include "instrument/carried.h"
#include "instrument/text_edits.h"

#include <cstddef>
#include <optional>
#include <string>

namespace flor::instrument {

struct CountedRange {
  std::string obstacle;  ///< why it is no such range, as a part of a sentence; empty if it is one
  std::string type;      ///< of the counter
  std::string range;     ///< what flor::loop gets
  int variable = -1;     ///< the counter
  std::size_t name = 0;  ///< the token that declares it
};

/// The loop is a `for` with two semicolons in its header.
CountedRange counted_range(const Program& program, const Carried& carried, const StateTypes& types,
                           const TextEdits& edits, Loop loop);

struct Parts {
  Range first, condition, step;
};

/// The three parts of (init; condition; step); nothing if the header has others.
std::optional<Parts> parts_of(const Reader& reader, Range header);

}  // namespace flor::instrument
