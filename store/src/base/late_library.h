// A library that is loaded when one of its functions is first needed: linking it would make every
// command start later. Or one that a build is without.
#pragma once

#include <string_view>

namespace flor::store {

/// Throws for a part of the command that was left out of this build (FLOR_TOOL_PARTS, see
/// docs/install.md). `packages`: Debian's names of the libraries it needs.
[[noreturn]] void throw_left_out(std::string_view wanted, std::string_view packages);

/// Stays loaded until the process ends. Thread-safe once it is made.
class LateLibrary {
 public:
  /// Throws Error with `advice` if there is no such file.
  LateLibrary(const char* file, const char* advice);
  /// Lets `function` point to the library's function `name`; throws Error if it has none.
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
