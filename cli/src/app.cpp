// The program around the subcommands.
#include "app.h"

#include "commands/commands.h"
#include "commands/setup_commands.h"
#include "completion.h"
#include "output/terminal_text.h"
#include "seats/seat.h"
#include "shell/command.h"
#include "shell/context.h"
#include "shell/current_settings.h"
#include "shell/manual.h"
#include "shell/pages.h"
#include "watch/evaluators/evaluator_process.h"
#include "watch/evaluators/judge_seat.h"

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

namespace flor::cli {
namespace {

struct Entry {
  std::unique_ptr<Command> command;
  CLI::App* app = nullptr;
  std::optional<Syntax> syntax;
};

constexpr std::string_view kIntroduction =
    R"(flor: look at recorded runs, and ask them what they did not log

Usage: flor [OPTIONS] COMMAND ...

)";

constexpr std::string_view kGlobalHelp = R"(
Options of every command:
      --home DIR         the store, instead of $FLOR_HOME or ~/.flor
      --json             JSON with a schema version (docs/cli.md), for programs
      --color WHEN       auto, always or never; NO_COLOR is honoured
  -h, --help             this, or the help of a command
      --version          the version of flor
)";

constexpr std::string_view kFirstSteps = R"(
A run is called by the first digits of its id, by NAME (its latest run), NAME~2 (two runs before)
or NAME:COMMIT; RUN@12 is its epoch 12.

  ./train --flor linear         record a run of your program
  flor list                     see it
  flor query loss accuracy      see what it logged
  flor replay linear            ask it more, with a rebuilt program
  flor COMMAND --help           more, with examples
)";

/// Those that kGlobalHelp lists.
std::vector<Syntax::Entry> global_entries() {
  std::vector<Syntax::Entry> entries;
  std::string_view text = kGlobalHelp;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = line.find('-'), end = line.find("  ", begin);
    if (begin == line.npos || end == line.npos || !line.starts_with(' ')) continue;
    entries.push_back({.left = std::string(line.substr(begin, end - begin)),
                       .help = std::string(line.substr(line.find_first_not_of(' ', end)))});
  }
  return entries;
}

class Application {
 public:
  Application();
  int run(int argc, char** argv, Output& out);
  /// The commands as texts.
  Pages pages() const;

 private:
  void parse(int argc, char** argv);
  const Entry* command_of(std::span<char*> arguments) const;
  void apply_settings();
  std::string help_of(const Entry& entry) const;
  std::string general_help() const;
  std::string help(std::string_view command) const;
  std::vector<std::string> names() const;

  CLI::App app_;
  GlobalOptions options_;
  bool version_ = false;
  std::string help_topic_;
  CLI::App* help_ = nullptr;
  std::vector<Entry> entries_;
};

Application::Application() {
  app_.name("flor");
  // Global options may follow the command; what follows it is never a second command, so that an
  // experiment may be called "show".
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  app_.add_option("--home", options_.home);
  app_.add_option("--color", options_.color);
  app_.add_flag("--json", options_.json);
  app_.add_flag("--version", version_);
  constexpr std::array kMakers{make_list,     make_show,  make_log,      make_query,  make_plot,
                               make_sql,      make_audit, make_replay,   make_diff,   make_blame,
                               make_checkout, make_build, make_merge,    make_fsck,   make_keep,
                               make_gc,       make_du,    make_archive,  make_export, make_import,
                               make_watch,    make_jobs,  make_shutdown, make_serve,  make_report,
                               make_spool,    make_fetch, make_remote,   make_doctor, make_config};
  for (const auto make : kMakers) {
    Entry& entry = entries_.emplace_back();
    entry.command = make();
    entry.app = app_.add_subcommand(std::string(entry.command->name()));
    entry.syntax.emplace(*entry.app);
    entry.command->setup(*entry.syntax);
  }
  help_ = app_.add_subcommand("help");
  help_->add_option("COMMAND", help_topic_);
}

std::vector<std::string> Application::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) result.emplace_back(entry.command->name());
  result.emplace_back("help");
  return result;
}

/// Null for `flor help`. Throws for an unknown command: CLI11 would only say that an argument was
/// not expected.
const Entry* Application::command_of(std::span<char*> arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--home" || argument == "--color") {
      ++i;
    } else if (!argument.starts_with('-')) {
      const std::vector<std::string> known = names();
      const auto found = std::ranges::find(
          entries_, argument, [](const Entry& entry) { return entry.command->name(); });
      if (found != entries_.end()) return &*found;
      if (argument == "help") return nullptr;
      std::string hint = did_you_mean(argument, known);
      if (hint.empty()) hint = ": 'flor help' lists the commands";
      throw UsageError(fmt::format("no command '{}'{}", printable(argument), hint));
    }
  }
  return nullptr;
}

std::string Application::help_of(const Entry& entry) const {
  std::string text =
      fmt::format("flor {}: {}\n\nUsage: flor {} {}\n", entry.command->name(),
                  entry.command->summary(), entry.command->name(), entry.syntax->usage());
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
  text += "Commands:\n";
  for (const Entry& entry : entries_) {
    text += fmt::format("  {:<8} {}\n", entry.command->name(), entry.command->summary());
  }
  text += "  help     this, or the help of a command\n";
  text += kGlobalHelp;
  text += kFirstSteps;
  return text;
}

std::string Application::help(std::string_view command) const {
  if (command.empty() || command == "help") return general_help();
  for (const Entry& entry : entries_) {
    if (entry.command->name() == command) return help_of(entry);
  }
  std::string hint = did_you_mean(command, names());
  if (hint.empty()) hint = ": 'flor help' lists the commands";
  throw UsageError(fmt::format("no command '{}'{}", printable(command), hint));
}

Pages Application::pages() const {
  Pages pages;
  for (const Entry& entry : entries_) {
    pages.commands.push_back({.name = std::string(entry.command->name()),
                              .summary = std::string(entry.command->summary()),
                              .lesson = std::string(entry.command->lesson()),
                              .usage = entry.syntax->usage(),
                              .entries = entry.syntax->entries()});
  }
  pages.global = global_entries();
  pages.introduction = kFirstSteps;
  return pages;
}

/// The first option that the command does not have, and what was probably meant; empty if it has
/// them all.
std::string unknown_option(const Entry& command, std::span<char*> arguments) {
  std::vector<std::string> known = command.syntax->option_names();
  for (const Syntax::Entry& global : global_entries()) {
    const std::string name = global.left.substr(global.left.find("--"));
    known.push_back(name.substr(0, name.find(' ')));
  }
  for (const std::string_view argument : arguments) {
    const std::string name(argument.substr(0, argument.find('=')));
    if (argument == "--") break;
    if (!name.starts_with("--") || std::ranges::find(known, name) != known.end()) continue;
    const auto& others = command.syntax->other_names();
    const auto other = others.find(name);
    const std::string hint =
        other != others.end() ? ": " + other->second : did_you_mean(name, known);
    return fmt::format(
        "flor {} has no {}{}", command.command->name(), printable(name),
        hint.empty() ? fmt::format(": see 'flor {} --help'", command.command->name()) : hint);
  }
  return {};
}

void Application::parse(int argc, char** argv) {
  const std::span arguments(argv + std::min(argc, 1), argv + argc);
  const Entry* command = command_of(arguments);
  if (auto* rest = command ? command->syntax->rest_target() : nullptr) {
    const auto dashes = std::ranges::find(arguments, std::string_view("--"));
    if (dashes != arguments.end()) rest->assign(dashes + 1, arguments.end());
    argc -= static_cast<int>(arguments.end() - dashes);
  }
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    const std::string unknown = command ? unknown_option(*command, arguments) : std::string();
    if (!unknown.empty()) throw UsageError(unknown);
    std::string what = error.what();
    std::ranges::replace(what, '\n', ' ');
    const auto given = app_.get_subcommands();
    const std::string name = given.empty() ? "" : " " + given.front()->get_name();
    throw UsageError(fmt::format("{}: see 'flor{} --help'", printable(what), name));
  }
}

/// What no option says is as the settings have it.
void Application::apply_settings() {
  const bool colored = app_.get_option("--color")->count() > 0;
  set_current_settings(store::Settings::read(
      {{.name = "home", .flag = "--home", .value = options_.home},
       {.name = "color", .flag = "--color", .value = colored ? options_.color : std::string()}}));
  options_.color = current_settings().get("color").value;
  store::add_secret_names(current_settings().get("secrets").value);
}

int Application::run(int argc, char** argv, Output& out) {
  try {
    parse(argc, argv);
  } catch (const CLI::Success&) {
    const auto given = app_.get_subcommands();
    out.write(help(given.empty() ? "" : given.front()->get_name()));
    return 0;
  }
  if (version_) {
    out.write("flor " FLOR_VERSION "\n");
    return 0;
  }
  if (help_->parsed()) {
    out.write(help(help_topic_));
    return 0;
  }
  for (const Entry& entry : entries_) {
    if (!entry.app->parsed()) continue;
    apply_settings();
    Context context(options_, out);
    return entry.command->run(context);
  }
  throw UsageError("no command given: 'flor help' lists them");
}

/// `flor complete WORDS...`, for shells; `flor __manual DIR`, for the build. Neither is listed.
std::optional<int> run_hidden(std::span<char*> words, Output& out) {
  if (words.empty()) return std::nullopt;
  const std::string_view name = words[0];
  if (name == "complete") {
    out.write(print(complete(Application().pages(), {words.begin() + 1, words.end()})));
    return 0;
  }
  if (name == "__manual" && words.size() == 2) {
    for (const auto& [file, text] : manual(Application().pages(), FLOR_VERSION)) {
      std::ofstream(std::filesystem::path(words[1]) / file) << text;
    }
    return 0;
  }
  return std::nullopt;
}

/// As many as the system lets this process open: a change of a group of ranks writes a journal for
/// each.
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

int run(int argc, char** argv) {
  // A reader that left (`flor list | head -1`) shows as EPIPE, not as a death.
  std::signal(SIGPIPE, SIG_IGN);
  allow_many_files();
  if (argc > 2 && argv[1] == std::string_view("__seat")) return run_seat(argv[2]);
  if (argc > 2 && argv[1] == std::string_view("__judge")) return run_judge_seat(argv[2]);
  if (argc > 2 && argv[1] == std::string_view("__evaluator")) {
    return run_evaluator_process({argv + 2, argv + argc});
  }
  Output out(1);
  try {
    const auto hidden = run_hidden({argv + std::min(argc, 1), argv + argc}, out);
    const int status = hidden ? *hidden : Application().run(argc, argv, out);
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
