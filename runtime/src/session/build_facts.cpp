#include "session/build_facts.h"

#include "base/notice.h"
#include "git/shadow.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <sstream>

// Defined in two files that flor_instrument compiles into a program; null in a program without
// them.
extern "C" {
extern const char flor_build_recipe[] __attribute__((weak));
extern const char flor_build_sources[] __attribute__((weak));
}

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& file, const fs::path& directory) {
  std::error_code error;
  const fs::path relative =
      fs::weakly_canonical(file, error).lexically_relative(fs::weakly_canonical(directory, error));
  return !relative.empty() && *relative.begin() != "..";
}

/// For example "train.cpp (and 2 more)".
std::string some(const std::vector<std::string>& files, const fs::path& root) {
  const fs::path first = files.front();
  std::string text = (is_inside(first, root) ? first.lexically_relative(root) : first).string();
  if (files.size() > 1) text += fmt::format(" (and {} more)", files.size() - 1);
  return text;
}

bool is_changed(const SourceStamp& stamp) {
  struct stat facts{};
  if (::stat(stamp.path.c_str(), &facts) != 0) return true;
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  const std::int64_t modified = facts.st_mtim.tv_sec * 1'000'000LL + facts.st_mtim.tv_nsec / 1000;
  if (bytes == stamp.bytes && modified == stamp.modified_us) return false;
  if (bytes != stamp.bytes || stamp.content == "-") return true;
  return git::content_id(stamp.path) != stamp.content;
}

}  // namespace

std::optional<BuildRecipe> program_recipe() {
  if (!flor_build_recipe) return std::nullopt;
  try {
    BuildRecipe recipe = BuildRecipe::decode(flor_build_recipe);
    if (flor_build_sources) {
      recipe.sources =
          digest_of_sources(ProgramSources::decode(flor_build_sources), recipe.source_directory);
    }
    return recipe;
  } catch (const Error& error) {
    say(Level::warn, error.what());
    return std::nullopt;
  }
}

ProgramSources ProgramSources::decode(std::string_view text) {
  ProgramSources sources;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    SourceStamp stamp;
    std::int64_t seconds = 0, micros = 0;
    char dot = 0;
    if (line.starts_with("commit ")) {
      sources.commit = line.substr(7);
    } else if (line == "whole") {
      sources.whole = true;
    } else if (words >> stamp.content >> stamp.bytes >> seconds >> dot >> micros && dot == '.') {
      stamp.modified_us = seconds * 1'000'000 + micros;
      words.ignore(1);
      std::getline(words, stamp.path);
      if (!stamp.path.empty()) sources.files.push_back(std::move(stamp));
    }
  }
  return sources;
}

std::optional<ProgramSources> sources_of_program() {
  if (!flor_build_sources) return std::nullopt;
  ProgramSources sources = ProgramSources::decode(flor_build_sources);
  if (!changed_sources(sources).empty()) return std::nullopt;
  return sources;
}

std::string digest_of_sources(const ProgramSources& sources, const fs::path& root) {
  std::vector<std::string> lines;
  for (const SourceStamp& stamp : sources.files) {
    if (stamp.content == "-") return {};
    lines.push_back(stamp.content + " " + fs::path(stamp.path).lexically_relative(root).string());
  }
  if (lines.empty()) return {};
  std::ranges::sort(lines);
  const std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  return store::digest_of(std::as_bytes(std::span(text))).hex();
}

OtherPrograms::OtherPrograms(const ProgramSources& sources, fs::path project) {
  if (!sources.whole || project.empty()) return;
  std::error_code error;
  for (const SourceStamp& stamp : sources.files) {
    fs::path file = fs::canonical(stamp.path, error);
    if (!error) sources_.insert(std::move(file));
  }
  project = fs::canonical(project, error);
  if (!error && !sources_.empty()) project_ = std::move(project);
}

OtherPrograms OtherPrograms::of_this() {
  const auto recipe = program_recipe();
  if (!recipe || !flor_build_sources) return {};
  return {ProgramSources::decode(flor_build_sources), recipe->source_directory};
}

bool OtherPrograms::hold(const fs::path& file) const {
  if (project_.empty()) return false;
  std::error_code error;
  const fs::path place = fs::weakly_canonical(file, error);
  if (error || sources_.contains(place)) return false;
  const auto [end, rest] = std::ranges::mismatch(project_, place);
  return end == project_.end();
}

std::vector<std::string> changed_sources(const ProgramSources& sources) {
  std::vector<std::string> changed;
  bool any = false;
  for (const SourceStamp& stamp : sources.files) {
    std::error_code error;
    any = any || fs::exists(stamp.path, error);
    if (is_changed(stamp)) changed.push_back(stamp.path);
  }
  if (!any) changed.clear();
  return changed;
}

std::string why_of_other_sources(const fs::path& repository, std::string_view head) {
  const auto recipe = program_recipe();
  if (!recipe || !flor_build_sources) return {};
  const ProgramSources sources = ProgramSources::decode(flor_build_sources);
  const auto changed = changed_sources(sources);
  const fs::path root = recipe->source_directory;
  constexpr std::size_t kDigits = 8;
  if (!changed.empty() && !sources.commit.empty() && !head.empty() && sources.commit != head) {
    return fmt::format("was built at commit {}, while HEAD is {}, and {} changed",
                       sources.commit.substr(0, kDigits), head.substr(0, kDigits),
                       some(changed, root));
  }
  if (!changed.empty()) return fmt::format("is older than {}", some(changed, root));
  std::error_code error;
  if (!repository.empty() && fs::exists(root, error) && !is_inside(root, repository)) {
    return fmt::format("was built in {}, outside of the repository {}", root.string(),
                       repository.string());
  }
  return {};
}

}  // namespace flor::detail
