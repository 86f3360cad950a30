// Integers in JSON that another program wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flor::store {

/// The integer; nothing if it is none, or out of the type's range. The library's own conversion
/// also takes reals, for which being out of range is undefined behaviour, and wraps integers.
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
