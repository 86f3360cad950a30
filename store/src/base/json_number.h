// Integers in JSON that another program wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flor::store {

/// Returns `value` as an integer; nullopt if it is not an integer or does not fit the type. The
/// JSON library's own conversion is unsafe here: it wraps integers, and converts reals, which is
/// undefined behaviour if they are out of range.
template <typename Number, typename Json>
std::optional<Number> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    if (std::in_range<Number>(number)) return static_cast<Number>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.template get<std::int64_t>();
    if (std::in_range<Number>(number)) return static_cast<Number>(number);
  }
  return std::nullopt;
}

}  // namespace flor::store
