// Converts logged values to text and JSON.
#pragma once

#include "output/json.h"

#include <flor/store/catalog.h>

#include <string>

namespace flor::cli {

/// A value for a table: 6 significant digits; for large values a short description such as "table
/// 10x10".
std::string readable(store::ValueType type, const store::Scalar& value);
/// A value for programs: the shortest text that parses back to exactly the same value; JSON for
/// histograms and tables, the object's reference for tensors and images.
std::string exact(store::ValueType type, const store::Scalar& value);
/// A value as JSON, as docs/cli.md specifies it.
Json to_json(store::ValueType type, const store::Scalar& value);
/// The value of a boolean, an integer or a real as a number; nullopt for other types.
std::optional<double> number(store::ValueType type, const store::Scalar& value);

/// The number with 6 significant digits.
std::string readable(double value);
/// The shortest text that parses back to the same double.
std::string exact(double value);

}  // namespace flor::cli
