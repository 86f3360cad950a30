// Logged values as text, and whether two of them are equal.
#pragma once

#include <flor/store/catalog.h>

#include <string>
#include <string_view>

namespace flor::detail {

/// A text that identifies a value among those of its run and epoch.
std::string value_identity(const store::Value& value);
/// Compares bit for bit: NaN equals itself, 0.0 does not equal -0.0.
bool same_value(const store::Value& a, const store::Value& b);
/// The name of the value in messages. The value of an iteration is called so.
std::string_view value_title(const store::Value& value);
/// For example "epoch 3, train 17", or "outside the loops".
std::string print_place(const store::Place& place);
/// The shortest text that parses to the same value; long texts are cut.
std::string print_value(const store::Value& value);

}  // namespace flor::detail
