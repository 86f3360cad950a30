#include "protocol/flag_names.h"

#include "base/edit_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace flor::detail {
namespace {

struct FlagName {
  std::string_view name;     ///< without the leading dashes
  std::string_view value;    ///< e.g. "PID/NGPUS"; in brackets if optional
  std::string_view meaning;  ///< line of the help; empty: none
};

constexpr std::array kRecord = {
    FlagName{"flor", "[NAME]", "record a run of the experiment NAME (default: the last one here)"},
    FlagName{"flor_resume", "[auto]", "continue the interrupted run; auto: or begin a new one"},
    FlagName{"flor_from", "RUN[@EPOCH]", "begin a new run with the state after that epoch of RUN"},
    FlagName{"flor_check", "SECONDS|none",
             "how long a resume may check itself (default 1 %, 10 s)"},
    FlagName{"flor_no_git", "", "do not commit the sources"},
    FlagName{"flor_epsilon", "X", "share of the time that recording may take (default 1/15)"},
    FlagName{"flor_every", "N", "store every N-th epoch, whatever it costs"},
    FlagName{"flor_every_steps", "N", "also store every N steps inside epochs"},
    FlagName{"flor_every_seconds", "S", "also store every S seconds inside epochs"},
    FlagName{"flor_output", "MIB|none", "how much to keep of what is printed (default 16, of files)"},
    FlagName{"flor_machine", "SECONDS|none", "between samples of CPU, memory, GPU (default 10)"},
};
constexpr std::array kReplay = {
    FlagName{"replay_flor", "[PID/NGPUS]",
             "replay the latest run, or part PID of NGPUS (0/2, 1/2)"},
    FlagName{"replay", "[PID/NGPUS]", ""},
    FlagName{"flor_epochs", "A..B", "replay these epochs only"},
    FlagName{"flor_step", "LIST", "answer only these steps of nested loops: 0,10..20,last"},
    FlagName{"flor_probe", "LOOP", "execute these nested loops (LOOP,LOOP...)"},
    FlagName{"flor_no_probe", "", "execute no nested loop that is stored"},
    FlagName{"flor_verify", "N|all|none", "execute N whole epochs to verify what is found (default 1)"},
    FlagName{"flor_init", "weak|strong", "jump to the first epoch, or walk there"},
    FlagName{"flor_threads", "N", "compute with N threads (default: as recorded)"},
    FlagName{"flor_override", "NAME=VALUE", "arguments that only say where or how fast to compute"},
    FlagName{"flor_plugin", "FILE", "show the recorded states to a plug-in"},
};
constexpr std::array kEither = {
    FlagName{"kwargs", "NAME=VALUE", "arguments of flor::arg, one or more; not for a replay"},
    FlagName{"flor_run", "RUN", "the run to replay or to resume"},
    FlagName{"flor_home", "DIR", "the store (default $FLOR_HOME, else ~/.flor)"},
    FlagName{"flor_help", "", ""},
};

template <typename Use>
void for_each_flag(Use&& use) {
  for (const FlagName& flag : kRecord) use(flag);
  for (const FlagName& flag : kReplay) use(flag);
  for (const FlagName& flag : kEither) use(flag);
}

std::string written(const FlagName& flag) {
  return fmt::format("--{}{}{}", flag.name, flag.value.empty() ? "" : " ", flag.value);
}

std::vector<std::string>& own_flags() {
  static std::vector<std::string> names;
  return names;
}

/// The word in lower case, without dashes and underscores: "--Replay-Flor" becomes "replayflor".
std::string letters(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c != '-' && c != '_')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// English words that resemble Flor's shortest flags, and that programs may well use as flags.
constexpr std::string_view kOrdinary[] = {"floor", "flow", "flows", "for",   "flop",
                                          "flops", "flog", "relay", "reply", "display"};

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

const FlagName* nearest_within(const std::string& text, std::size_t limit_of_long) {
  const FlagName* nearest = nullptr;
  std::size_t least = SIZE_MAX;
  for_each_flag([&](const FlagName& flag) {
    const std::string name = letters(flag.name);
    constexpr std::size_t kLong = 8;
    const std::size_t limit =
        name.size() < kLong ? std::min<std::size_t>(1, limit_of_long) : limit_of_long;
    const std::size_t distance = store::edit_distance(text, name);
    if (distance > limit || distance >= least) return;
    nearest = &flag;
    least = distance;
  });
  return nearest;
}

void add_section(std::string& text, std::string_view title, const auto& flags) {
  text += fmt::format("{}\n", title);
  for (const FlagName& flag : flags) {
    if (!flag.meaning.empty()) text += fmt::format("  {:<28} {}\n", written(flag), flag.meaning);
  }
}

}  // namespace

std::string canonical_flag(std::string_view word) {
  std::string name(word);
  if (!word.starts_with("--")) return name;
  std::replace(name.begin() + 2, name.end(), '-', '_');
  bool known = name.starts_with("--flor_") || name.starts_with("--replay_flor");
  for_each_flag([&](const FlagName& flag) { known = known || name.substr(2) == flag.name; });
  return known ? name : std::string(word);
}

bool is_replay_flag(std::string_view word) {
  const std::string flag = canonical_flag(word.substr(0, word.find('=')));
  return flag == "--replay_flor" || flag == "--replay";
}

std::optional<std::string> meant_flag(std::string_view word, bool has_mode) {
  if (word.size() < 3 || word.front() != '-') return std::nullopt;
  const std::string_view name = without_dashes(word);
  if (std::ranges::find(own_flags(), name) != own_flags().end()) return std::nullopt;
  if (std::ranges::find(kOrdinary, name) != std::end(kOrdinary)) return std::nullopt;
  if (name == "record" && !has_mode) return written(kRecord.front());
  // Short options may be combined after one dash, so after a single dash only the exact name
  // counts.
  const bool single = !word.starts_with("--");
  const FlagName* flag = nearest_within(letters(name), single ? 0 : 2);
  if (!flag) return std::nullopt;
  return written(*flag);
}

std::optional<std::string> nearest_flag(std::string_view word) {
  const FlagName* flag = nearest_within(letters(word), 3);
  if (!flag) return std::nullopt;
  return written(*flag);
}

void keep_own_flags(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) own_flags().emplace_back(without_dashes(name));
}

std::string flag_help() {
  std::string text;
  add_section(text, "Record:", kRecord);
  add_section(text, "Replay:", kReplay);
  add_section(text, "Either:", kEither);
  text +=
      "Dashes and underscores are the same; what follows -- is the program's own. See also: flor "
      "--help\n";
  return text;
}

}  // namespace flor::detail
