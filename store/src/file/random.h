// Random numbers for names, which no other process chooses.
#pragma once

#include <cstdint>

namespace flor::store {

/// 64 random bits of the kernel. Throws Error where it has none.
std::uint64_t random_bits();

}  // namespace flor::store
