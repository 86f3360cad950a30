#include "git/tree/filters.h"

#include "base/text.h"

#include <fcntl.h>
#include <iconv.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

namespace flor::git {
namespace {

std::string expanded(const std::string& command, const std::string& path) {
  std::string out;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == '%' && i + 1 < command.size() && command[i + 1] == 'f') {
      out += store::shell_word(path);
      ++i;
    } else if (command[i] == '%' && i + 1 < command.size() && command[i + 1] == '%') {
      out += '%';
      ++i;
    } else {
      out += command[i];
    }
  }
  return out;
}

std::optional<pid_t> spawn_shell(const std::string& command, const std::filesystem::path& root,
                                 int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, root.c_str());
  std::string shell = "sh", flag = "-c", text = command;
  std::array<char*, 4> arguments = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  return child;
}

bool read_all(int file, std::string& out) {
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t n = ::read(file, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    out.append(part.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::optional<std::string> run_clean_command(const std::string& command,
                                             const std::filesystem::path& root,
                                             const std::string& path, int input) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const auto child = spawn_shell(expanded(command, path), root, input, ends[1]);
  ::close(ends[1]);
  std::string out;
  const bool complete = child && read_all(ends[0], out);
  ::close(ends[0]);
  if (!child) return std::nullopt;
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!complete || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return out;
}

std::optional<std::string> to_utf8(std::string_view text, const std::string& encoding) {
  std::string from = encoding;
  std::transform(from.begin(), from.end(), from.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  // git's names for encodings with a byte order mark. iconv removes the mark for "UTF-16", but
  // keeps it as text for "UTF-16LE".
  if (from == "UTF-16LE-BOM") from = "UTF-16";
  const iconv_t converter = ::iconv_open("UTF-8", from.c_str());
  if (converter == reinterpret_cast<iconv_t>(-1)) return std::nullopt;
  std::string input(text), out;
  char* in = input.data();
  std::size_t in_left = input.size();
  std::array<char, 65536> part;
  bool good = true;
  while (good && in_left > 0) {
    char* to = part.data();
    std::size_t to_left = part.size();
    const std::size_t result = ::iconv(converter, &in, &in_left, &to, &to_left);
    out.append(part.data(), part.size() - to_left);
    good = result != static_cast<std::size_t>(-1) || errno == E2BIG;
  }
  ::iconv_close(converter);
  if (!good) return std::nullopt;
  return out;
}

}  // namespace flor::git
