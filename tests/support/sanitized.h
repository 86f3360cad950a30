// Whether these tests, and the programs that they run, are built with a sanitizer.
#pragma once

namespace flor::testing {

// GCC defines macros; clang has __has_feature.
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

/// Limits of memory in tests are multiplied by this, because sanitizers need memory of their own.
inline constexpr long kMemoryFactor = kThreadSanitizer ? 6 : kAddressSanitizer ? 2 : 1;

}  // namespace flor::testing
