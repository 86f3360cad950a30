// Whether a sanitizer is in these tests, and in the programs that they run.
#pragma once

namespace flor::testing {

// GCC defines macros; clang is asked for features.
#if defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#endif

/// How much more memory programs may take that count it: sanitizers keep books of their own on all
/// of it.
inline constexpr long kMemoryFactor = kThreadSanitizer ? 6 : kAddressSanitizer ? 2 : 1;

}  // namespace flor::testing
