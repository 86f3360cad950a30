// Random numbers for unique names.
#pragma once

#include <cstdint>

namespace flor::store {

/// Returns 64 random bits from the kernel. Throws Error if the kernel provides none.
std::uint64_t random_bits();

}  // namespace flor::store
