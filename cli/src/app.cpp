// Parses the command line, runs the subcommand, and reports errors.
#include "app.h"

#include "completion.h"
#include "output/terminal_text.h"
#include "shell/context.h"
#include "shell/current_settings.h"
#include "shell/manual.h"
#include "shell/pages.h"
#include "shell/word_check.h"

#include <flor/store/error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

namespace flor::cli {
namespace {

struct Entry {
  std::string_view group;
  std::unique_ptr<Command> command;
  CLI::App* app = nullptr;
  std::optional<Syntax> syntax;

  bool is_called(std::string_view word) const {
    const auto aliases = command->aliases();
    return command->name() == word || std::ranges::find(aliases, word) != aliases.end();
  }
};

/// Commands that earlier versions had, each with a sentence on what replaces it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kFormerCommands{
    {{"shutdown", "flor watch --stop ends the watches"},
     {"merge", "git merge --squash COMMIT takes a version over, and flor log NAME lists them"}}};

constexpr std::string_view kIntroduction =
    R"(flor: look at recorded runs, and ask them for values they did not log

Usage: flor [OPTIONS] COMMAND ...

)";

constexpr std::string_view kGlobalHelp = R"(
Options of every command:
      --home DIR         use this store instead of $FLOR_HOME or ~/.flor
      --json             print JSON with a schema version (docs/cli.md), for programs
      --color WHEN       color the output: auto, always or never; NO_COLOR is honoured
  -h, --help             show this, or the help of a command
      --version          print the version of flor
)";

constexpr std::string_view kFirstSteps = R"(
A run is called by the first digits of its id, by NAME (its latest run), NAME~2 (two runs before)
or NAME:COMMIT; RUN@12 is its epoch 12, RUN@latest its last stored one, RUN@best:loss:min its best.
A letter means the same in every command.

  ./train --flor linear         record a run of your program
  flor list                     see it
  flor query loss accuracy      see what it logged
  flor replay linear            ask it more, with a rebuilt program
  flor COMMAND --help           more, with examples
)";

/// The options that kGlobalHelp lists.
std::vector<Syntax::Entry> global_entries() {
  std::vector<Syntax::Entry> entries;
  std::string_view text = kGlobalHelp;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = line.find('-'), end = line.find("  ", begin);
    if (begin == line.npos || end == line.npos || !line.starts_with(' ')) continue;
    Syntax::Entry& entry = entries.emplace_back();
    entry.left = line.substr(begin, end - begin);
    entry.help = line.substr(line.find_first_not_of(' ', end));
    if (!option_form(entry).value.empty()) entry.takes = Syntax::Entry::Takes::value;
  }
  return entries;
}

class Application {
 public:
  explicit Application(const CommandSet& commands);
  int run(int argc, char** argv, Output& out);
  /// Describes all commands as texts.
  Pages pages() const;

 private:
  Asked parse(int argc, char** argv);
  Asked check(std::span<const std::string_view> words) const;
  const Entry* entry_of(std::string_view word) const;
  [[noreturn]] void unknown_command(std::string_view word) const;
  void apply_settings();
  std::string help_of(const Entry& entry) const;
  std::string general_help() const;
  std::string help(std::string_view command) const;
  std::vector<std::string> names() const;

  const CommandSet& commands_;
  CLI::App app_;
  GlobalOptions options_;
  std::string help_topic_;
  CLI::App* help_ = nullptr;
  std::optional<Syntax> help_syntax_, no_syntax_;
  std::vector<Entry> entries_;
};

Application::Application(const CommandSet& commands) : commands_(commands) {
  app_.name("flor");
  // Global options may follow the command. A word that follows the command is never a second
  // command, so that an experiment may be called "show".
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  app_.add_option("--home", options_.home);
  app_.add_option("--color", options_.color);
  app_.add_flag("--json", options_.json);
  for (const CommandGroup& group : commands.groups) {
    for (const auto make : group.makers) {
      Entry& entry = entries_.emplace_back();
      entry.group = group.title;
      entry.command = make();
      entry.app = app_.add_subcommand(std::string(entry.command->name()));
      for (const std::string_view alias : entry.command->aliases()) {
        entry.app->alias(std::string(alias));
      }
      entry.syntax.emplace(*entry.app);
      entry.command->setup(*entry.syntax);
    }
  }
  help_ = app_.add_subcommand("help");
  help_syntax_.emplace(*help_);
  help_syntax_->operand("COMMAND", help_topic_, "the command to explain", false);
  no_syntax_.emplace(app_);
}

std::vector<std::string> Application::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) {
    result.emplace_back(entry.command->name());
    for (const std::string_view alias : entry.command->aliases()) result.emplace_back(alias);
  }
  result.emplace_back("help");
  return result;
}

void Application::unknown_command(std::string_view word) const {
  const auto former =
      std::ranges::find(kFormerCommands, word, &decltype(kFormerCommands)::value_type::first);
  std::string hint = former == kFormerCommands.end() ? did_you_mean(word, names())
                                                     : fmt::format(": {}", former->second);
  if (hint.empty() && !commands_.missing.empty()) hint = fmt::format(": {}", commands_.missing);
  if (hint.empty()) hint = ": 'flor help' lists the commands";
  throw UsageError(fmt::format("no command '{}'{}", printable(word), hint));
}

const Entry* Application::entry_of(std::string_view word) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.is_called(word); });
  return found == entries_.end() ? nullptr : &*found;
}

/// The index of the first operand, which names the command; words.size() if there is none.
std::size_t command_place(std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    if (words[i] == "--home" || words[i] == "--color") {
      ++i;
    } else if (!is_option(words[i])) {
      return i;
    }
  }
  return words.size();
}

std::string Application::help_of(const Entry& entry) const {
  std::string text =
      fmt::format("flor {}: {}\n\nUsage: flor {} {}\n", entry.command->name(),
                  entry.command->summary(), entry.command->name(), entry.syntax->usage());
  if (const auto aliases = entry.command->aliases(); !aliases.empty()) {
    text += fmt::format("       flor {} is the same command\n", fmt::join(aliases, ", "));
  }
  constexpr std::size_t kMargin = 25;
  const auto section = [&](const char* title, bool operands) {
    bool first = true;
    for (const Syntax::Entry& line : entry.syntax->entries()) {
      if (line.operand != operands) continue;
      if (first) text += fmt::format("\n{}:\n", title);
      first = false;
      text += fmt::format("  {:<{}}{}{}\n", line.left, kMargin - 2,
                          line.left.size() > kMargin - 4 ? "  " : "", line.help);
    }
  };
  section("Operands", true);
  section("Options", false);
  text += kGlobalHelp;
  text += "\n";
  text += entry.command->lesson();
  return text;
}

std::string Application::general_help() const {
  std::string text(kIntroduction);
  std::string_view group;
  for (const Entry& entry : entries_) {
    if (entry.group != group) {
      text += fmt::format("{}{}:\n", group.empty() ? "" : "\n", entry.group);
    }
    group = entry.group;
    const auto aliases = entry.command->aliases();
    const std::string also =
        aliases.empty() ? "" : fmt::format(" (also: {})", fmt::join(aliases, ", "));
    text += fmt::format("  {:<8} {}{}\n", entry.command->name(), entry.command->summary(), also);
  }
  text += kGlobalHelp;
  text += kFirstSteps;
  if (!commands_.missing.empty()) text += fmt::format("\nSome commands are missing: {}.\n", commands_.missing);
  return text;
}

std::string Application::help(std::string_view command) const {
  if (command.empty() || command == "help") return general_help();
  if (const Entry* entry = entry_of(command)) return help_of(*entry);
  unknown_command(command);
}

Pages Application::pages() const {
  Pages pages;
  for (const Entry& entry : entries_) {
    const auto aliases = entry.command->aliases();
    pages.commands.push_back({.group = std::string(entry.group),
                              .name = std::string(entry.command->name()),
                              .aliases = {aliases.begin(), aliases.end()},
                              .summary = std::string(entry.command->summary()),
                              .lesson = std::string(entry.command->lesson()),
                              .usage = entry.syntax->usage(),
                              .entries = entry.syntax->entries()});
  }
  pages.global = global_entries();
  pages.introduction = kFirstSteps;
  return pages;
}

/// Throws UsageError, with a message better than CLI11's, for everything that CLI11 would refuse.
Asked Application::check(std::span<const std::string_view> words) const {
  const std::vector<Syntax::Entry> global = global_entries();
  const std::size_t place = command_place(words);
  if (place == words.size()) {
    return check_words({.command = {}, .syntax = *no_syntax_, .global = global}, words);
  }
  const std::string_view word = words[place];
  if (const Entry* entry = entry_of(word)) {
    return check_words({.command = std::string(entry->command->name()),
                        .syntax = *entry->syntax,
                        .global = global},
                       words);
  }
  if (word == "help") {
    return check_words({.command = "help", .syntax = *help_syntax_, .global = global}, words);
  }
  check_words({.command = {}, .syntax = *no_syntax_, .global = global}, words.first(place));
  unknown_command(word);
}

/// Parses the words into the variables of the command. Returns whether the user asked for help or
/// the version instead.
Asked Application::parse(int argc, char** argv) {
  std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  const std::size_t place = command_place(words);
  const Entry* command = place < words.size() ? entry_of(words[place]) : nullptr;
  if (auto* rest = command ? command->syntax->rest_target() : nullptr) {
    const auto dashes = std::ranges::find(words, "--");
    if (dashes != words.end()) rest->assign(dashes + 1, words.end());
    argc -= static_cast<int>(words.end() - dashes);
    words.erase(dashes, words.end());
  }
  const Asked asked = check(words);
  if (asked == Asked::help && place < words.size()) help_topic_ = words[place];
  if (asked != Asked::work) return asked;
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError&) {
    const std::string name = command ? fmt::format(" {}", command->command->name()) : "";
    throw UsageError(fmt::format("these words do not fit together: see 'flor{} --help'", name));
  }
  return help_->parsed() ? Asked::help : Asked::work;
}

/// Takes the options that were not given from the settings (environment and files).
void Application::apply_settings() {
  const bool colored = app_.get_option("--color")->count() > 0;
  set_current_settings(store::Settings::read(
      {{.name = "home", .flag = "--home", .value = options_.home},
       {.name = "color", .flag = "--color", .value = colored ? options_.color : std::string()}}));
  options_.color = current_settings().get("color").value;
  store::add_secret_names(current_settings().get("secrets").value);
}

int Application::run(int argc, char** argv, Output& out) {
  const Asked asked = parse(argc, argv);
  if (asked == Asked::help) out.write(help(help_topic_));
  if (asked == Asked::version) out.write("flor " FLOR_VERSION "\n");
  if (asked != Asked::work) return 0;
  for (const Entry& entry : entries_) {
    if (!entry.app->parsed()) continue;
    apply_settings();
    Context context(options_, out);
    return entry.command->run(context);
  }
  throw UsageError("no command given: 'flor help' lists them");
}

/// Runs a command that the help does not list: `flor complete WORDS...`, called by shells, or `flor
/// __manual DIR`, called by the build. Returns nullopt for other words.
std::optional<int> run_hidden(std::span<char*> words, const CommandSet& commands, Output& out) {
  if (words.empty()) return std::nullopt;
  const std::string_view name = words[0];
  if (name == "complete") {
    out.write(print(complete(command_pages(commands), {words.begin() + 1, words.end()})));
    return 0;
  }
  if (name == "__manual" && words.size() == 2) {
    for (const auto& [file, text] : manual(command_pages(commands), FLOR_VERSION)) {
      std::ofstream(std::filesystem::path(words[1]) / file) << text;
    }
    return 0;
  }
  return std::nullopt;
}

/// Raises the limit of open files as far as the system allows: changing a group of ranks writes a
/// journal for each rank.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int report(std::string_view what, ExitStatus status) {
  print_remark(what);
  return static_cast<int>(status);
}

}  // namespace

Pages command_pages(const CommandSet& commands) { return Application(commands).pages(); }

int run(int argc, char** argv, const CommandSet& commands) {
  // A closed pipe (`flor list | head -1`) must cause EPIPE, not kill the process.
  std::signal(SIGPIPE, SIG_IGN);
  allow_many_files();
  const std::span words(argv + std::min(argc, 1), argv + argc);
  if (commands.own_process) {
    if (const auto status = commands.own_process(words)) return *status;
  }
  Output out(1);
  try {
    const auto hidden = run_hidden(words, commands, out);
    const int status = hidden ? *hidden : Application(commands).run(argc, argv, out);
    out.flush();
    return status;
  } catch (const PipeClosed&) {
    return 0;
  } catch (const Error& error) {
    return report(error.what(), error.status());
  } catch (const std::bad_alloc&) {
    return report("not enough memory for this: ask for less, e.g. with --epochs or --run",
                  ExitStatus::failed);
  } catch (const std::exception& error) {
    return report(fmt::format("unexpected error: {}", error.what()), ExitStatus::failed);
  }
}

}  // namespace flor::cli
