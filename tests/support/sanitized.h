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

/// They keep books of their own on memory, and take several times as long.
inline constexpr bool kSanitized = kThreadSanitizer || kAddressSanitizer;

}  // namespace flor::testing
