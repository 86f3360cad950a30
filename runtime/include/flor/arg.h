// flor::arg: hyper-parameters, whose values are recorded and used again on replay.
#pragma once

#include <flor/store/error.h>

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace flor {
namespace detail {

/// The form in which the program itself gives the value of an argument: nothing, an empty text, or
/// a value.
enum class Fallback { none, empty, value };

/// The text that replaces the program's own value: from the command line, or on replay from the
/// record. Nothing if the program's value is to be used. Throws UsageError if neither exists.
std::optional<std::string> argument_text(std::string_view name, Fallback fallback);
void note_argument(std::string_view name, std::string_view type, const std::string& text);
[[noreturn]] void refuse_argument(std::string_view name, std::string_view text,
                                  std::string_view expected);

template <typename T>
concept Argument = std::same_as<T, std::string> || std::is_arithmetic_v<T>;

template <Argument T>
constexpr std::string_view argument_type() {
  if constexpr (std::same_as<T, std::string>) return "text";
  if constexpr (std::same_as<T, bool>) return "bool";
  return std::integral<T> ? "int" : "real";
}

template <Argument T>
T parse_argument(std::string_view name, const std::string& text) {
  if constexpr (std::same_as<T, std::string>) {
    return text;
  } else if constexpr (std::same_as<T, bool>) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    refuse_argument(name, text, "true or false");
  } else {
    T value{};
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc::result_out_of_range) refuse_argument(name, text, "in range");
    if (error != std::errc() || end != last) {
      refuse_argument(name, text, std::integral<T> ? "a whole number" : "a number");
    }
    return value;
  }
}

template <Argument T>
std::string print_argument(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else {
    char buffer[64];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, end);
  }
}

template <Argument T>
T resolve_argument(std::string_view name, std::optional<T> fallback) {
  Fallback own = fallback ? Fallback::value : Fallback::none;
  if constexpr (std::same_as<T, std::string>) {
    if (fallback && fallback->empty()) own = Fallback::empty;
  }
  const auto text = argument_text(name, own);
  T value = text ? parse_argument<T>(name, *text) : *std::move(fallback);
  note_argument(name, argument_type<T>(), print_argument(value));
  return value;
}

}  // namespace detail

/// A hyper-parameter: the value from `--kwargs name=value`, else `fallback`. The value is recorded,
/// and a replay returns the recorded one, so that even a seed drawn from std::random_device is the
/// same again. The type is that of `fallback`; a text that does not fit it is a usage error (status
/// 2).
///
/// The value of an argument whose name says that it is secret ("password", "api_key") is recorded
/// masked. A replay or a resumed run takes it from --kwargs or FLOR_SECRET_NAME; if neither has it
/// and the recorded run used its `fallback`, from `fallback`.
template <detail::Argument T>
T arg(std::string_view name, T fallback) {
  return detail::resolve_argument<T>(name, std::move(fallback));
}
inline std::string arg(std::string_view name, const char* fallback) {
  return detail::resolve_argument<std::string>(name, std::string(fallback ? fallback : ""));
}
/// A hyper-parameter without a fallback, which must be given: `flor::arg<int>("epochs")`.
template <detail::Argument T>
T arg(std::string_view name) {
  return detail::resolve_argument<T>(name, std::nullopt);
}

}  // namespace flor
