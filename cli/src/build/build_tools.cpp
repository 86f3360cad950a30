#include "build/build_tools.h"

#include "build/build_log.h"
#include "build/program_launch.h"
#include "build/recipe_text.h"
#include "file/home_files.h"
#include "output/terminal_text.h"
#include "process/child.h"

#include <flor/store/digest.h>
#include <flor/store/secrets.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

/// `path` relative to `directory`; nullopt if it is not inside.
std::optional<fs::path> inside(const fs::path& path, const fs::path& directory) {
  std::error_code error;
  const fs::path relative =
      fs::weakly_canonical(path, error).lexically_relative(fs::weakly_canonical(directory, error));
  if (path.empty() || directory.empty() || relative.empty() || *relative.begin() == "..") {
    return std::nullopt;
  }
  return relative;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const fs::path& file, const std::string& text) {
  if (const int made = store::open_in_home(file, O_WRONLY | O_CREAT); made >= 0) ::close(made);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) throw Error(fmt::format("cannot write {}", printable(file.string())));
}

std::string short_digest(const std::string& text) {
  return store::digest_of(std::as_bytes(std::span(text))).hex().substr(0, 8);
}

/// The commands of one build, with CMake or by the user's command.
struct Steps {
  std::string key;   ///< name of the build directory, equal for all programs that are built the
                     ///< same way
  fs::path program;  ///< path of the built program
  std::vector<std::vector<std::string>> commands;
  fs::path directory;  ///< working directory of the commands
  std::map<std::string, std::optional<std::string>> environment;
};

/// The program's size and time. While they stay the same, the program has not been replaced.
std::string stamp_of(const fs::path& program) {
  struct stat facts{};
  if (::stat(program.c_str(), &facts) != 0) return {};
  return fmt::format("{} {}.{:09}", facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

/// Lets ccache find what was compiled in another tree or by the user.
void set_up_cache(const BuildPlace& place, Steps& steps) {
  if (!std::getenv("CCACHE_BASEDIR")) steps.environment["CCACHE_BASEDIR"] = place.place.string();
  if (!std::getenv("CCACHE_NOHASHDIR")) steps.environment["CCACHE_NOHASHDIR"] = std::string("1");
}

/// Translates paths in the user's directories to those of the version's tree.
class Moved {
 public:
  Moved(const BuildRecipe& recipe, fs::path repository, fs::path sources, fs::path build)
      : recipe_(recipe),
        repository_(std::move(repository)),
        sources_(std::move(sources)),
        build_(std::move(build)) {}

  /// Translates a path; nullopt if it is neither in the build directory nor in the repository.
  std::optional<fs::path> path(const fs::path& path) const {
    if (const auto part = inside(path, recipe_.build_directory)) return build_ / *part;
    if (const auto part = inside(path, repository_)) return sources_ / *part;
    return std::nullopt;
  }

  /// Translates a value of the CMake cache: a list of paths, or any other text. A path that git
  /// does not track, and that exists only in the user's tree, stays unchanged.
  std::string value(const std::string& text) const {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(';', begin), text.size());
      std::string part = text.substr(begin, end - begin);
      if (part.starts_with('/')) {
        const auto moved = path(part);
        std::error_code error;
        const bool built = moved && inside(*moved, build_);
        if (moved && (built || fs::exists(*moved, error) || !fs::exists(part, error))) {
          part = moved->string();
        }
      }
      parts.push_back(std::move(part));
      begin = end + 1;
    }
    return fmt::format("{}", fmt::join(parts, ";"));
  }

 private:
  const BuildRecipe& recipe_;
  fs::path repository_, sources_, build_;
};

/// The recorded CMake cache, as text for `cmake -C`.
std::string initial_cache(const BuildRecipe& recipe, const Moved& moved) {
  BuildRecipe here = recipe;
  bool launcher = false;
  for (detail::CacheVariable& variable : here.cache) {
    variable.value = moved.value(variable.value);
    launcher = launcher || variable.name == "CMAKE_CXX_COMPILER_LAUNCHER";
  }
  const auto ccache = find_on_path("ccache");
  if (!launcher && ccache) {
    here.cache.push_back({"CMAKE_CXX_COMPILER_LAUNCHER", "FILEPATH", *ccache});
  }
  check_recipe(here);
  return cache_file(here);
}

Steps steps_of_recipe(const BuildPlace& place, const BuildPlan& plan) {
  const BuildRecipe& recipe = *plan.recipe;
  const auto top = inside(recipe.source_directory, plan.repository);
  if (!top) {
    throw Error(
        fmt::format("the program was built from {}, which is not in the recorded repository "
                    "{}: its sources were not recorded",
                    printable(recipe.source_directory), printable(plan.repository.string())));
  }
  if (!find_on_path("cmake")) {
    throw Error(
        "there is no cmake on PATH: install it, or say with --build what builds the program");
  }
  BuildRecipe way = recipe;  // the key must not depend on what is built
  way.target = way.program = way.flags = "";
  Steps steps;
  steps.key = fmt::format("build-{}", short_digest(way.encode()));
  const fs::path build = place.place / steps.key;
  const Moved moved(recipe, plan.repository, place.sources, build);
  const auto program = moved.path(recipe.program);
  if (!program) {
    throw Error(
        fmt::format("the program is built to {}, outside of its build directory and the "
                    "repository: a version of its own cannot be built beside it; say with "
                    "--build what builds one",
                    printable(recipe.program)));
  }
  steps.program = *program;
  steps.directory = place.sources;
  for (const auto& [name, value] : recipe.environment) steps.environment[name] = value;
  const fs::path source = (place.sources / *top).lexically_normal();
  std::error_code error;
  if (!fs::exists(build / "flor-configured", error)) {
    fs::remove_all(build);
    fs::create_directories(build);
    write_text(build / "flor-cache.cmake", initial_cache(recipe, moved));
    steps.commands.push_back({"cmake", "-G", recipe.generator, "-C",
                              (build / "flor-cache.cmake").string(), "-S", source.string(), "-B",
                              build.string()});
    steps.commands.push_back({"cmake", "-E", "touch", (build / "flor-configured").string()});
  }
  std::vector<std::string> command{"cmake",
                                   "--build",
                                   build.string(),
                                   "--target",
                                   recipe.target,
                                   "--parallel",
                                   fmt::format("{}", cores_here().size())};
  if (!recipe.configuration.empty()) {
    command.insert(command.end(), {"--config", recipe.configuration});
  }
  steps.commands.push_back(std::move(command));
  set_up_cache(place, steps);
  return steps;
}

Steps steps_of_command(const BuildPlace& place, const BuildPlan& plan) {
  Steps steps;
  steps.key = fmt::format("command-{}", short_digest(plan.command));
  const auto program = inside(plan.program, plan.repository);
  steps.program =
      program ? place.sources / *program : place.place / steps.key / plan.program.filename();
  fs::create_directories(steps.program.parent_path());
  const auto directory = inside(plan.directory, plan.repository);
  std::error_code error;
  steps.directory = directory ? (place.sources / *directory).lexically_normal() : place.sources;
  if (!fs::is_directory(steps.directory, error)) steps.directory = place.sources;
  steps.commands.push_back({"sh", "-c", plan.command});
  steps.environment["FLOR_PROGRAM"] = steps.program.string();
  set_up_cache(place, steps);
  return steps;
}

[[noreturn]] void fail(const BuildPlace& place, const fs::path& log, const std::string& command) {
  FoundError found = find_error(read_text(log), place.sources.string());
  if (found.line.empty()) found.line = fmt::format("{} failed without a word", command);
  throw BuildError(fmt::format("version {} does not build: {} ({})", place.name,
                               printable(found.line), printable(log.string())),
                   std::move(found.excerpt), log);
}

void run_steps(const BuildPlace& place, const Steps& steps, const fs::path& log) {
  for (const std::vector<std::string>& command : steps.commands) {
    write_text(log, read_text(log) + fmt::format("$ {}\n", store::RecordedCommand(command).text()));
    const ChildResult result = run_child(command, {.directory = steps.directory,
                                                   .environment = steps.environment,
                                                   .log = log,
                                                   .inherited = place.lock});
    if (result.status != 0) fail(place, log, command.front());
  }
  if (::access(steps.program.c_str(), X_OK) == 0) return;
  throw BuildError(
      fmt::format("the build of version {} succeeded, but made no program {}; a command "
                  "finds in $FLOR_PROGRAM where it is expected ({})",
                  place.name, printable(steps.program.string()), printable(log.string())),
      "", log);
}

}  // namespace

BuiltVersion build_sources(const BuildPlace& place, const BuildPlan& plan) {
  if (!plan.recipe && plan.command.empty()) throw Error("it is not known how to build the program");
  const auto began = std::chrono::steady_clock::now();
  const Steps steps =
      plan.command.empty() ? steps_of_recipe(place, plan) : steps_of_command(place, plan);
  BuiltVersion built{.program = steps.program, .sources = place.sources, .log = {}};
  // One file for each target, because several programs share a build directory.
  const fs::path note =
      place.place / fmt::format("built-{}", short_digest(steps.key + steps.program.string()));
  const auto state = [&] { return place.since + " " + stamp_of(steps.program); };
  if (!stamp_of(steps.program).empty() && read_text(note) == state()) {
    built.up_to_date = true;
    return built;
  }
  store::require_directory_in_home(place.place / "logs");
  std::error_code error;
  built.log = place.place / "logs" / fmt::format("{}.log", place.name);
  write_text(built.log, "");
  fs::remove(note, error);
  run_steps(place, steps, built.log);
  write_text(note, state());
  built.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return built;
}

}  // namespace flor::cli
