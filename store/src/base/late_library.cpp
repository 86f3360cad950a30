#include "base/late_library.h"

#include <flor/store/error.h>

#include <dlfcn.h>
#include <fmt/core.h>

namespace flor::store {

void throw_left_out(std::string_view wanted, std::string_view packages) {
  throw Error(
      fmt::format("{} was left out of this build of flor: install {}, and build it again without "
                  "FLOR_TOOL_PARTS, as by cmake --preset release",
                  wanted, packages));
}

LateLibrary::LateLibrary(const char* file, const char* advice)
    : file_(file), library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) throw Error(advice);
}

void* LateLibrary::address(const char* name) const {
  void* const found = ::dlsym(library_, name);
  if (!found) throw Error(fmt::format("{} is too old: it lacks {}", file_, name));
  return found;
}

}  // namespace flor::store
