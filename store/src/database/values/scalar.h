// Stores a logged value and its place in columns of SQLite without changing a bit.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <array>
#include <cstddef>

namespace flor::store {

/// Returns the 8 bytes that represent a NaN in a column.
std::array<std::byte, 8> bytes_of_nan(double nan);

/// Binds the scalar to a parameter. A NaN is bound as a blob of its 8 bytes (IEEE 754,
/// little-endian), because SQLite would turn it into NULL. `nan` holds these bytes and must live
/// until the statement has been executed.
void bind_scalar(Query& query, int index, const Scalar& scalar, std::byte (&nan)[8]);

Scalar read_scalar(const Query& row, int column);

/// Returns the number that a boolean, an integer or a real represents; NaN for all other types.
double number_of(ValueType type, const Scalar& scalar);

/// Compares two Place::inner, as "4,0" and "10", as lists of numbers. Returns a negative number, 0,
/// or a positive number.
int compare_inner(std::string_view a, std::string_view b);

}  // namespace flor::store
