#include "resume/unregistered.h"

#include "session/build_facts.h"
#include "sources/forgotten.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace flor::detail {
namespace {

// In bytes. A user's own program is smaller, and reading and analysing more would take too long.
constexpr std::uintmax_t kAllSourcesMax = 1u << 20;

std::vector<sources::SourceText> texts_of(const ProgramSources& known,
                                          const std::filesystem::path& root) {
  std::vector<sources::SourceText> texts;
  std::uintmax_t bytes = 0;
  for (const SourceStamp& stamp : known.files) {
    if (!sources::is_source(stamp.path)) continue;
    if ((bytes += stamp.bytes) > kAllSourcesMax) return {};
    std::ifstream in(stamp.path, std::ios::binary);
    if (!in) return {};  // the registrations in this file are unknown
    texts.push_back({std::filesystem::path(stamp.path).lexically_relative(root).string(),
                     std::string{std::istreambuf_iterator<char>(in), {}}});
  }
  return texts;
}

std::vector<sources::Forgotten> forgotten_by_program() {
  const auto known = sources_of_program();
  const auto recipe = known ? program_recipe() : std::nullopt;
  if (!recipe) return {};
  return sources::find_forgotten(texts_of(*known, recipe->source_directory));
}

}  // namespace

std::string print_suspects() {
  std::string words;
  for (const auto& [variable, loop, where] : forgotten_by_program()) {
    words += fmt::format("{}'{}', which the loop {} changes and {} reads",
                         words.empty() ? "" : ", or ", variable, loop, where);
  }
  return words;
}

std::string print_lost_inside(const std::vector<std::string>& main_loops) {
  std::string words;
  for (const auto& [variable, loop, where] : forgotten_by_program()) {
    if (std::ranges::find(main_loops, loop) != main_loops.end()) continue;
    words += fmt::format("{}'{}' of {} ({})", words.empty() ? "" : ", ", variable, loop, where);
  }
  return words;
}

std::string print_unregistered() {
  const auto found = forgotten_by_program();
  if (found.empty()) return {};
  const auto& [variable, loop, where] = found.front();
  std::string line = fmt::format(
      "{} reads '{}', which the loop {} changes and which is not registered: a replay or a resume "
      "would see another value; flor::loop(\"{}\", ..., flor::with({})) keeps it",
      where, variable, loop, loop, variable);
  for (std::size_t i = 1; i < found.size(); ++i) {
    line += fmt::format("{}'{}' of {} ({})", i == 1 ? "; so for " : ", ", found[i].variable,
                        found[i].loop, found[i].where);
  }
  return line;
}

}  // namespace flor::detail
