// The rows that flor::query returns.
#include <flor/query.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

namespace flor {
namespace {

[[noreturn]] void not_a(std::string_view what, std::string_view column, std::size_t row,
                        const Rows::Cell& cell) {
  static constexpr const char* kTypes[] = {"empty", "a boolean", "an integer", "a real number",
                                           "a text"};
  throw Error(fmt::format("row {}, column '{}' is {}, and {} is asked for", row, column,
                          kTypes[cell.index()], what));
}

double number_in(const Rows::Cell& cell, std::string_view column, std::size_t row) {
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean ? 1 : 0;
  not_a("a number", column, row, cell);
}

template <typename T>
const T& of_type(const Rows::Cell& cell, std::string_view what, std::string_view column,
                 std::size_t row) {
  if (const auto* value = std::get_if<T>(&cell)) return *value;
  not_a(what, column, row, cell);
}

}  // namespace

Rows::Rows(std::vector<std::string> columns, std::vector<Cell> cells)
    : columns_(std::move(columns)), cells_(std::move(cells)) {
  const bool is_whole = columns_.empty() ? cells_.empty() : cells_.size() % columns_.size() == 0;
  if (!is_whole) {
    throw UsageError(fmt::format("flor::Rows: {} cells are no whole rows of {} columns",
                                 cells_.size(), columns_.size()));
  }
  std::set<std::string_view> met;
  for (const std::string& column : columns_) {
    if (met.insert(column).second) continue;
    throw UsageError(fmt::format("flor::Rows: two columns are called '{}'", column));
  }
}

bool Rows::has(std::string_view column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

std::size_t Rows::index_of(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  throw NotFound(
      fmt::format("these rows have no column '{}', but {}", column, fmt::join(columns_, ", ")));
}

std::vector<double> Rows::numbers(std::string_view column) const {
  const std::size_t at = index_of(column);
  std::vector<double> numbers;
  for (std::size_t row = 0; row < size(); ++row) {
    numbers.push_back(number_in(cells_[row * columns_.size() + at], column, row));
  }
  return numbers;
}

std::vector<std::int64_t> Rows::integers(std::string_view column) const {
  const std::size_t at = index_of(column);
  std::vector<std::int64_t> integers;
  for (std::size_t row = 0; row < size(); ++row) {
    integers.push_back(
        of_type<std::int64_t>(cells_[row * columns_.size() + at], "an integer", column, row));
  }
  return integers;
}

const Rows::Cell& Rows::Row::cell(std::string_view column) const {
  return rows_->cells_[index_ * rows_->columns_.size() + rows_->index_of(column)];
}

bool Rows::Row::has(std::string_view column) const {
  return rows_->has(column) && cell(column).index() != 0;
}

double Rows::Row::number(std::string_view column) const {
  return number_in(cell(column), column, index_);
}

std::int64_t Rows::Row::integer(std::string_view column) const {
  return of_type<std::int64_t>(cell(column), "an integer", column, index_);
}

bool Rows::Row::boolean(std::string_view column) const {
  return of_type<bool>(cell(column), "a boolean", column, index_);
}

const std::string& Rows::Row::text(std::string_view column) const {
  return of_type<std::string>(cell(column), "a text", column, index_);
}

}  // namespace flor
