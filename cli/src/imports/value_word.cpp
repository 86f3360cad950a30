#include "imports/value_word.h"

#include "base/text.h"

#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace flor::cli {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  const bool is_signed = text.size() > 1 && text[0] == '+' && text[1] != '-';
  if (is_signed) text.remove_prefix(1);
  Number number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || text.empty()) return std::nullopt;
  return number;
}

store::Argument argument(std::string_view name, const char* type, std::string value) {
  const bool is_secret = store::is_secret(name, value) || store::masked(value) != value;
  return {.name = store::printable(name),
          .type = is_secret ? "secret" : type,
          .value = store::printable(value)};
}

}  // namespace

std::optional<double> whole_number(std::string_view text) { return number_in<double>(text); }
std::optional<std::int64_t> whole_integer(std::string_view text) {
  return number_in<std::int64_t>(text);
}

bool is_inexact(std::string_view text) {
  constexpr std::size_t kExact = 15;  // so many digits are exact in every real
  if (text.size() <= kExact || whole_integer(text)) return false;
  const auto real = whole_number(text);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (!real || text.find_first_not_of("0123456789") != text.npos) return false;
  const std::size_t first = text.find_first_not_of('0');
  return first != text.npos && fmt::format("{:.0f}", std::abs(*real)) != text.substr(first);
}

ValueWord value_word(std::string_view text) {
  using store::ValueType;
  if (const auto integer = whole_integer(text)) return {ValueType::integer, *integer};
  // Whole numbers of more digits than the integers have stay as they are written.
  const bool has_many_digits = text.find_first_not_of("+-0123456789") == text.npos;
  const auto real = has_many_digits ? std::nullopt : whole_number(text);
  if (real) return {ValueType::real, *real};
  if (text == "true" || text == "false") {
    return {ValueType::boolean, std::int64_t{text == "true"}};
  }
  const bool bracketed = text.starts_with('{') || text.starts_with('[');
  if (bracketed && nlohmann::json::accept(text)) return {ValueType::json, std::string(text)};
  return {ValueType::text, std::string(text)};
}

store::Argument argument_word(std::string_view name, std::string_view text) {
  const ValueWord word = value_word(text);
  const char* const type = word.type == store::ValueType::integer   ? "int"
                           : word.type == store::ValueType::real    ? "real"
                           : word.type == store::ValueType::boolean ? "bool"
                                                                    : "text";
  return argument(name, type, std::string(text.starts_with('+') ? text.substr(1) : text));
}

store::Argument number_argument(std::string_view name, double value) {
  constexpr double kWholeMax = 9e15;
  const bool is_whole = std::abs(value) < kWholeMax && value == std::floor(value);
  return is_whole ? argument(name, "int", std::to_string(static_cast<std::int64_t>(value)))
                  : argument(name, "real", fmt::format("{}", value));
}

store::Argument boolean_argument(std::string_view name, bool value) {
  return argument(name, "bool", value ? "true" : "false");
}

store::Argument text_argument(std::string_view name, std::string_view value) {
  return argument(name, "text", std::string(value));
}

void set_argument(std::vector<store::Argument>& arguments, const store::Argument& argument) {
  const auto known = std::ranges::find(arguments, argument.name, &store::Argument::name);
  if (known == arguments.end()) {
    arguments.push_back(argument);
  } else {
    *known = argument;
  }
}

}  // namespace flor::cli
