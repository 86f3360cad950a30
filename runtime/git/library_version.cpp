#include "git/library_version.h"

#include <git2.h>

namespace flor::git {

std::string library_version() {
  int major = 0, minor = 0, revision = 0;
  git_libgit2_version(&major, &minor, &revision);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
}

}  // namespace flor::git
