// Logged values as text, and the word that was probably meant.
#pragma once

#include <flor/store/catalog.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flor::ask {

/// A value for a table: 6 significant digits; for large values a short description such as "table
/// 10x10".
std::string readable(store::ValueType type, const store::Scalar& value);
/// A value for programs: the shortest text that parses back to exactly the same value; JSON for
/// histograms and tables, the object's reference for tensors and images.
std::string exact(store::ValueType type, const store::Scalar& value);
/// The value of a boolean, an integer or a real as a number; nullopt for other types.
std::optional<double> number(store::ValueType type, const store::Scalar& value);

/// The number with 6 significant digits.
std::string readable(double value);
/// The shortest text that parses back to the same double.
std::string exact(double value);

/// The candidate that `word` probably means; nullopt if none is similar enough.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// ": did you mean 'x'?", or an empty text.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace flor::ask
