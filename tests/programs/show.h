// What an instrumented program prints for the tests: one line a value, numbers with all their bits,
// nothing while a replay only catches up.
#pragma once

#include <flor/session.h>

#include <concepts>
#include <cstdio>
#include <string_view>

inline void show_part(std::floating_point auto value) {
  std::printf(" %a", static_cast<double>(value));
}
inline void show_part(std::integral auto value) {
  std::printf(" %lld", static_cast<long long>(value));
}
inline void show_part(std::string_view text) {
  std::printf(" %.*s", static_cast<int>(text.size()), text.data());
}

/// `kind`: "step" inside nested loops, "tail" elsewhere in an iteration.
template <typename... Parts>
void show(std::string_view kind, const Parts&... parts) {
  if (flor::catching_up()) return;
  std::printf("%.*s", static_cast<int>(kind.size()), kind.data());
  (show_part(parts), ...);
  std::printf("\n");
}
