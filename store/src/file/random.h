// Random numbers for names that no other process will choose.
#pragma once

#include <cstdint>

namespace flor::store {

/// 64 random bits from the kernel. Throws Error if it has none.
std::uint64_t random_bits();

}  // namespace flor::store
