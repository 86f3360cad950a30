#include "git/library.h"

#include <flor/store/error.h>

#include <fmt/format.h>

namespace flor::git {

std::string last_error() {
  const git_error* error = git_error_last();
  std::string text = error && error->message ? error->message : "unknown reason";
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

void check(int code, std::string_view doing) {
  if (code >= 0) return;
  const std::string text = fmt::format("{}: {}", doing, last_error());
  if (code == GIT_ELOCKED) throw Busy(text);
  if (code == GIT_ENOTFOUND) throw NotFound(text);
  throw Error(text);
}

int open_repository(git_repository** out, const char* directory, unsigned flags) {
  const int code = git_repository_open_ext(out, directory, flags, nullptr);
  if (code == GIT_ENOTFOUND && last_error().find("safe.directory") != std::string::npos) {
    return GIT_EOWNER;
  }
  return code;
}

std::string to_hex(const git_oid& id) {
  std::string hex(GIT_OID_HEXSZ, '0');
  git_oid_fmt(hex.data(), &id);
  return hex;
}

}  // namespace flor::git
