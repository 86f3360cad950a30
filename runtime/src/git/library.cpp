#include "library.h"

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

namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string printable(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t length = utf8_length(path);
    const auto first = static_cast<unsigned char>(path[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      out += fmt::format("\\{:03o}", first);
      path.remove_prefix(1);
    } else {
      out += path.substr(0, length);
      path.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace flor::git
