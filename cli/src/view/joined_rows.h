// Describes joined values: their origins and verdicts, and rows as JSON (specified by docs/cli.md).
#pragma once

#include "choose/asked.h"
#include "output/color.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

using ask::origin_of;
using ask::verdict_of;

/// The tone by which a table marks values that the run itself did not log.
Tone origin_tone(const store::Value& value);

/// An index of a loop, or null if there is none (-1).
Json index_json(std::int64_t index);
/// Parses indices such as "4,0" into [4, 0]; null for an empty text.
Json inner_json(const std::string& inner);

/// A row of `flor query --json`. `names`: the joined metrics, in order.
Json row_json(const store::Run& run, std::span<const std::string> names, const Join& join,
              std::size_t row);

}  // namespace flor::cli
