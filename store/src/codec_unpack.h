// Taking short bit fields out of a stream with vector instructions, where the processor has them.
// Used by the kernels only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flor::store::kernels {

/// Fields of up to so many bits can be taken by `take_fields`.
inline constexpr unsigned kFieldBits = 25;
/// `take_fields` takes so many at a time.
inline constexpr std::size_t kFieldGroup = 16;

/// Whether this processor has what `take_fields` needs.
bool can_take_fields();

/// Takes `count` fields, a multiple of kFieldGroup, of widths[i] <= kFieldBits bits each, which lie
/// without gaps from bit `position` on; `position` < 8. Their sum must be below 2^32 - 8. Touches
/// up to 16 bytes from the byte in which the last group begins. Returns the bits taken.
std::uint32_t take_fields(const std::uint8_t* bits, unsigned position, const std::uint8_t* widths,
                          std::size_t count, std::uint32_t* values);

}  // namespace flor::store::kernels
