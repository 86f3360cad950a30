// Words of people, and cells of files, as values and arguments.
#pragma once

#include <flor/store/catalog.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct ValueWord {
  store::ValueType type = store::ValueType::text;
  store::Scalar value;
};
/// A number, true or false, JSON in brackets, else the text, as whole numbers are that no integer
/// holds.
ValueWord value_word(std::string_view text);

/// The number if the whole text is one, also with a leading '+'.
std::optional<double> whole_number(std::string_view text);
std::optional<std::int64_t> whole_integer(std::string_view text);

/// Whether the text is a whole number that neither an integer nor a real holds.
bool is_inexact(std::string_view text);

/// An argument of the type that the word has. Its value is a secret where it reads like one.
store::Argument argument_word(std::string_view name, std::string_view text);
store::Argument number_argument(std::string_view name, double value);
store::Argument boolean_argument(std::string_view name, bool value);
store::Argument text_argument(std::string_view name, std::string_view value);
/// Adds the argument, or replaces the one of its name.
void set_argument(std::vector<store::Argument>& arguments, const store::Argument& argument);

}  // namespace flor::cli
