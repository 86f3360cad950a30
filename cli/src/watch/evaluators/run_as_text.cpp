#include "watch/evaluators/run_as_text.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace flor::cli {
namespace {

constexpr std::string_view kPlace = "{}";

/// Programs that execute the text after their option -c.
constexpr std::array<std::string_view, 17> kShells = {
    "sh",    "bash", "dash", "zsh",     "ksh", "mksh",    "fish",   "csh",  "tcsh",
    "rbash", "ash",  "yash", "busybox", "su",  "runuser", "script", "flock"};
/// Programs that join their words to a text which a shell executes, on this or another machine.
constexpr std::array<std::string_view, 7> kJoiners = {"ssh",   "rsh",      "mosh", "pdsh",
                                                      "watch", "parallel", "sem"};
/// Programs that execute the program that their words name.
constexpr std::array<std::string_view, 18> kLaunchers = {
    "env",     "nice", "ionice", "nohup", "timeout", "time",   "stdbuf", "setsid", "taskset",
    "numactl", "chrt", "sudo",   "doas",  "srun",    "docker", "podman", "xargs",  "apptainer"};

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::array<std::string_view, Size>& names) {
  return std::ranges::find(names, word.substr(word.rfind('/') + 1)) != names.end();
}

bool has_place(std::string_view word) { return word.find(kPlace) != word.npos; }

/// Whether the word contains more around "{}" than occurs in names of files and options.
bool is_text_around_path(std::string word) {
  for (std::size_t at = 0; (at = word.find(kPlace)) != word.npos;) word.erase(at, kPlace.size());
  return !std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 ||
           std::string_view("_-./=:,@%+~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// Whether the option takes a text to execute: "-c", "-lc", "--command".
bool takes_text(std::string_view word) {
  const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
  return is_short || word == "--command";
}

[[noreturn]] void refuse(std::string_view word, std::string_view right) {
  throw UsageError(
      fmt::format("in '{}' the name of a checkpoint would be run as a part of the text: {}",
                  printable(word), right));
}

constexpr std::string_view kInText =
    R"(write "$FLOR_CHECKPOINT" for {} there, or hand it over: sh -c '... "$1"' sh {})";

}  // namespace

void refuse_run_as_text(const std::vector<std::string>& words) {
  bool is_shell = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (has_place(words[i]) && is_text_around_path(words[i])) refuse(words[i], kInText);
    if (is_shell && takes_text(words[i]) && i + 1 < words.size() && has_place(words[i + 1])) {
      refuse(words[i] + " " + words[i + 1], kInText);
    }
    const bool may_be_program = i == 0 || is_one_of(words.front(), kLaunchers);
    is_shell = is_shell || (may_be_program && is_one_of(words[i], kShells));
    const bool joins = may_be_program && is_one_of(words[i], kJoiners);
    if (joins &&
        std::any_of(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), has_place)) {
      refuse(words[i] + " ... {}",
             R"(quote it for the other shell, as in bash -c 'ssh HOST judge "${1@Q}"' bash {})");
    }
  }
}

}  // namespace flor::cli
