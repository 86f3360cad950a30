// Logged values as text, and whether two are the same.
#pragma once

#include <flor/store/catalog.h>

#include <string>
#include <string_view>

namespace flor::detail {

/// Identifies a value within a run and an epoch.
std::string value_identity(const store::Value& value);
/// Bit for bit: NaNs equal themselves, 0.0 does not equal -0.0.
bool same_value(const store::Value& a, const store::Value& b);
/// Its name; of the value of an iteration that.
std::string_view value_title(const store::Value& value);
/// "epoch 3, train 17" or "outside the loops"
std::string print_place(const store::Place& place);
/// Shortest text that reads back as the same value; long texts are cut.
std::string print_value(const store::Value& value);

}  // namespace flor::detail
