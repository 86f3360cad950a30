// Logged values as text and as JSON.
#pragma once

#include "output/json.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

/// For a table: 6 significant digits; a short form such as "table 10x10" for large values.
std::string readable(store::ValueType type, const store::Scalar& value);
/// For programs: the shortest text that parses back to exactly the same value; JSON for histograms
/// and tables, the object's reference for tensors and images.
std::string exact(store::ValueType type, const store::Scalar& value);
/// JSON as docs/cli.md specifies it.
Json to_json(store::ValueType type, const store::Scalar& value);
/// The value of a boolean, an integer or a real as a number; nothing for other types.
std::optional<double> number(store::ValueType type, const store::Scalar& value);

/// 6 significant digits.
std::string readable(double value);
/// Shortest text that parses back to the same double.
std::string exact(double value);

}  // namespace flor::cli
