// A library that is loaded when something of it is first needed: linking it would make every
// command start later. Or one that a build is without.
#pragma once

#include <string_view>

namespace flor::store {

/// What is wanted is a part of the command that was left out of this build (FLOR_TOOL_PARTS, see
/// docs/building.md). `packages`: what Debian calls the libraries it needs.
[[noreturn]] void throw_left_out(std::string_view wanted, std::string_view packages);

/// Stays loaded until the process ends. Thread-safe once it is made.
class LateLibrary {
 public:
  /// Throws Error with `advice` if there is no such file.
  LateLibrary(const char* file, const char* advice);
  /// Lets `function` point to what the library calls `name`; throws Error if it has no such thing.
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
