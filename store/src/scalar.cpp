#include "scalar.h"

#include <sqlite3.h>

#include <bit>
#include <cmath>
#include <limits>

namespace flor::store {

void bind_scalar(Query& query, int index, const Scalar& scalar, std::byte (&nan)[8]) {
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    query.bind(index, *integer);
  } else if (const auto* text = std::get_if<std::string>(&scalar)) {
    query.bind(index, std::string_view(*text));
  } else if (const double real = std::get<double>(scalar); !std::isnan(real)) {
    query.bind(index, real);
  } else {
    const auto bits = std::bit_cast<std::uint64_t>(real);
    for (unsigned i = 0; i < 8; ++i) nan[i] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
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

}  // namespace flor::store
