#include "protocol/value_text.h"

#include "index/values/own_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>

namespace flor::detail {
namespace {

std::string_view last_component(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

/// A NaN is printed without a sign. For an unusual NaN the bits are added, so that two that differ
/// look so.
std::string print_real(double value) {
  if (!std::isnan(value)) return fmt::format("{}", value);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits == std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())
             ? "nan"
             : fmt::format("nan (bits {:x})", bits);
}

}  // namespace

std::string value_identity(const store::Value& value) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", value.name, value.place.path, value.place.step,
                     value.place.inner, value.ordinal);
}

bool same_value(const store::Value& a, const store::Value& b) {
  if (a.type != b.type || a.value.index() != b.value.index()) return false;
  if (const double* x = std::get_if<double>(&a.value)) {
    return std::bit_cast<std::uint64_t>(*x) ==
           std::bit_cast<std::uint64_t>(std::get<double>(b.value));
  }
  return a.value == b.value;
}

std::string_view value_title(const store::Value& value) {
  if (value.name == store::kIterationSeries) return "the value of the iteration";
  return value.name;
}

/// Loops that are missing around a flor::iteration have empty names.
std::string print_place(const store::Place& place) {
  if (place.path.empty()) return "outside the loops";
  std::string_view path = place.path;
  const auto next = [&path] {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    return name;
  };
  std::string text;
  const auto add = [&text](std::string_view name, auto index) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, index);
  };
  if (const auto main = next(); !main.empty()) add(main, place.epoch);
  if (const auto nested = next(); place.step >= 0 && !nested.empty()) add(nested, place.step);
  if (!place.inner.empty()) add(last_component(place.path), place.inner);
  return text;
}

std::string print_value(const store::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
    return value.type == store::ValueType::boolean ? (*integer ? "true" : "false")
                                                   : fmt::format("{}", *integer);
  }
  if (const auto* real = std::get_if<double>(&value.value)) return print_real(*real);
  const std::string& text = std::get<std::string>(value.value);
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? fmt::format("'{}'", text)
                               : fmt::format("'{}...'", text.substr(0, kShown));
}

}  // namespace flor::detail
