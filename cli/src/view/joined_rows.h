// Describes joined values: their origins and verdicts, and rows as JSON (specified by docs/cli.md).
#pragma once

#include "output/color.h"
#include "output/json.h"
#include "view/join.h"

#include <flor/store/catalog.h>

#include <span>
#include <string>
#include <string_view>

namespace flor::cli {

/// "recorded", "hindsight" or "evaluated"; if several values have different origins
/// "recorded+hindsight".
std::string_view origin_of(const store::Value& value);
std::string origin_of(std::span<const store::Value* const> cells);
/// How much a value can be trusted: "recorded", "verified", ...; "evaluated" for an evaluator's
/// value.
std::string_view verdict_of(const store::Value& value);
std::string verdict_of(std::span<const store::Value* const> cells);
/// Whether `name` is the name under which the catalog keeps doubtful values of `metric`.
bool is_doubtful_of(std::string_view name, std::string_view metric);
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
