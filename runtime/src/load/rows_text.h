// Rows as bytes, in one form only: equal rows have equal bytes, whose digest stands for them.
#pragma once

#include <flor/query.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::detail {

/// The form is described in docs/internals/format.md, "Rows of a question".
/// Throws Error where it would be longer than `most` bytes.
std::string encode_rows(const Rows& rows, std::size_t most);
/// The bytes may come from anywhere. Throws Damaged where they are not what encode_rows writes.
Rows decode_rows(std::string_view bytes);

}  // namespace flor::detail
