#include "database/values/scalar.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace flor::store {

std::array<std::byte, 8> bytes_of_nan(double nan) {
  const auto bits = std::bit_cast<std::uint64_t>(nan);
  std::array<std::byte, 8> bytes;
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  return bytes;
}

void bind_scalar(Query& query, int index, const Scalar& scalar, std::byte (&nan)[8]) {
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    query.bind(index, *integer);
  } else if (const auto* text = std::get_if<std::string>(&scalar)) {
    query.bind(index, std::string_view(*text));
  } else if (const double real = std::get<double>(scalar); !std::isnan(real)) {
    query.bind(index, real);
  } else {
    std::ranges::copy(bytes_of_nan(real), nan);
    query.bind(index, Bytes(nan));
  }
}

Scalar read_scalar(const Query& row, int column) {
  switch (row.type(column)) {
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.real(column);
    case SQLITE_BLOB: {
      const Bytes bytes = row.blob(column);
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < bytes.size() && i < 8; ++i) {
        bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
      }
      return std::bit_cast<double>(bits);
    }
    default:
      return row.text(column);
  }
}

double number_of(ValueType type, const Scalar& scalar) {
  if (type == ValueType::boolean || type == ValueType::integer) {
    if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
      return static_cast<double>(*integer);
    }
  } else if (type == ValueType::real) {
    if (const auto* real = std::get_if<double>(&scalar)) return *real;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

int compare_inner(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::size_t a_end = std::min(a.find(','), a.size());
    const std::size_t b_end = std::min(b.find(','), b.size());
    if (a_end != b_end) return a_end < b_end ? -1 : 1;  // no leading zeros: longer is larger
    const int order = a.substr(0, a_end).compare(b.substr(0, b_end));
    if (order != 0) return order;
    a.remove_prefix(std::min(a_end + 1, a.size()));
    b.remove_prefix(std::min(b_end + 1, b.size()));
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

}  // namespace flor::store
