// Finds the recorded sources of runs.
#include "view/sources.h"

#include "choose/run_spec.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace fs = std::filesystem;

namespace {

Tone tone_of(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ")) {
    return Tone::strong;
  }
  if (line.starts_with('+')) return Tone::good;
  if (line.starts_with('-')) return Tone::bad;
  if (line.starts_with("@@")) return Tone::hindsight;
  return Tone::plain;
}

/// Like printable, but keeps tabs, which source code is full of and which do no harm.
std::string printable_code(std::string_view line) {
  std::string result;
  while (true) {
    const std::size_t tab = line.find('\t');
    result += printable(line.substr(0, tab));
    if (tab == std::string_view::npos) return result;
    result += '\t';
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

Sources::Sources(Context& context)
    : note_([&context](const std::string& text) { context.note(text); }) {}

std::vector<fs::path> places_of_sources(const store::Run& run) {
  std::vector<fs::path> places;
  if (run.origin.recorded_here()) places.emplace_back(run.start.repository);
  std::error_code error;
  places.push_back(fs::current_path(error));
  return places;
}

const git::Repository* Sources::open(const fs::path& place) {
  auto [entry, added] = repositories_.try_emplace(place);
  std::error_code missing;
  if (added && fs::is_directory(place, missing)) entry->second = git::Repository::discover(place);
  return entry->second ? &*entry->second : nullptr;
}

const git::Repository* Sources::find(const store::Run& run,
                                     const std::vector<std::string>& commits) {
  for (const fs::path& place : places_of_sources(run)) {
    const git::Repository* repository = open(place);
    const auto has = [&](const std::string& commit) {
      return repository->commit(commit).has_value();
    };
    if (repository && std::ranges::all_of(commits, has)) return repository;
  }
  say_why_not(run, commits);
  return nullptr;
}

void Sources::say_why_not(const store::Run& run, const std::vector<std::string>& commits) {
  const std::string place = printable(run.start.repository);
  std::string why;
  if (!run.origin.recorded_here()) {
    why = fmt::format(
        "run {} was not recorded here, and the repository where you are lacks its "
        "commits: its sources cannot be compared",
        short_key(run));
  } else if (const git::Repository* repository = open(run.start.repository)) {
    const auto lacks = [&](const std::string& commit) { return !repository->commit(commit); };
    const auto commit = std::ranges::find_if(commits, lacks);
    if (commit == commits.end()) return;
    why = fmt::format("the repository {} lacks commit {}: its sources cannot be compared", place,
                      short_commit(*commit));
  } else {
    why = fmt::format("the repository {} is gone: its sources cannot be compared", place);
  }
  if (said_.insert(why).second) note_(why);
}

SourceChange source_change(Sources& sources, const store::Run& run, const std::string& from,
                           const std::string& to, std::optional<int> lines) {
  SourceChange change;
  if (from.empty() || to.empty()) return change;
  if (from == to) {
    change.known = true;
    return change;
  }
  const git::Repository* repository = sources.find(run, {from, to});
  if (!repository) return change;
  change.known = true;
  change.changes = repository->changes(from, to);
  if (lines) change.patch = repository->diff(from, to, *lines);
  return change;
}

std::string change_summary(const std::vector<git::FileChange>& changes) {
  if (changes.empty()) return "nothing";
  int added = 0, removed = 0;
  for (const git::FileChange& change : changes) {
    added += change.added;
    removed += change.removed;
  }
  return fmt::format("{} file{}, +{} -{}", changes.size(), changes.size() == 1 ? "" : "s", added,
                     removed);
}

Json changes_json(const std::vector<git::FileChange>& changes) {
  Json result = Json::array();
  for (const git::FileChange& change : changes) {
    result.push_back({{"kind", std::string(1, change.kind)},
                      {"path", change.path},
                      {"added", change.added},
                      {"removed", change.removed}});
  }
  return result;
}

Table changes_table(const std::vector<git::FileChange>& changes) {
  Table table({{""}, {""}, {"", Align::right}, {"", Align::right}}, Table::Header::hidden);
  for (const git::FileChange& change : changes) {
    table.add(std::string(1, change.kind));
    table.add(change.path);
    table.add(fmt::format("+{}", change.added), Tone::good);
    table.add(fmt::format("-{}", change.removed), Tone::bad);
  }
  return table;
}

void print_patch(Context& context, std::string_view diff) {
  while (!diff.empty()) {
    const std::size_t end = diff.find('\n');
    const std::string_view line = diff.substr(0, end);
    context.out().write(context.style().paint(tone_of(line), printable_code(line)));
    context.out().write("\n");
    if (end == std::string_view::npos) return;
    diff.remove_prefix(end + 1);
  }
}

}  // namespace flor::cli
