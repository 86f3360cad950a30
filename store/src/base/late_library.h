// Shared libraries that are loaded when a function of them is first needed. If the command were
// linked with them, every start of it would be slower.
#pragma once

#include <string_view>

namespace flor::store {

/// Throws an Error that says that `wanted`, a part of the command, was left out of this build
/// (FLOR_TOOL_PARTS, see docs/install.md). `packages`: names of the Debian packages that the part
/// needs.
[[noreturn]] void throw_left_out(std::string_view wanted, std::string_view packages);

/// A loaded library, which stays loaded until the process ends. Thread-safe after construction.
class LateLibrary {
 public:
  /// Throws Error with `advice` if there is no such library.
  LateLibrary(const char* file, const char* advice);
  /// Sets `function` to the library's function `name`; throws Error if it has none.
  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  const char* file_;
  void* library_;
};

}  // namespace flor::store
