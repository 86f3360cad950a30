// Columns of SQLite that keep a logged value and its place without losing a bit.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <array>
#include <cstddef>

namespace flor::store {

/// The 8 bytes that stand for a NaN in a column.
std::array<std::byte, 8> bytes_of_nan(double nan);

/// Binds the scalar. A NaN becomes the blob of its 8 bytes (IEEE 754, little-endian), because
/// SQLite would turn it into NULL. `nan` is scratch that must live until the execution.
void bind_scalar(Query& query, int index, const Scalar& scalar, std::byte (&nan)[8]);

Scalar read_scalar(const Query& row, int column);

/// The number that a boolean, an integer or a real represents; NaN for everything else.
double number_of(ValueType type, const Scalar& scalar);

/// Compares the indices of deeper loops, "4,0" and "10", as lists of numbers: negative, 0,
/// positive.
int compare_inner(std::string_view a, std::string_view b);

}  // namespace flor::store
