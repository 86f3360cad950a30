// The recorded sources of runs.
#include "sources.h"

#include "context.h"
#include "output/table.h"
#include "output/text.h"
#include "run_spec.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace flor::cli {
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

/// Like printable, but tabs stay: source code is full of them and they do no harm.
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

const git::Repository* Sources::find(const store::Run& run,
                                     const std::vector<std::string>& commits) {
  const std::string& path = run.start.repository;
  auto [entry, added] = repositories_.try_emplace(path);
  if (added) {
    std::error_code missing;
    if (std::filesystem::is_directory(path, missing)) {
      entry->second = git::Repository::discover(path);
    }
    if (!entry->second) {
      note_(fmt::format("the repository {} is gone: its sources cannot be compared", path));
    }
  }
  if (!entry->second) return nullptr;
  for (const std::string& commit : commits) {
    if (entry->second->commit(commit)) continue;
    note_(fmt::format("the repository {} lacks commit {}: its sources cannot be compared", path,
                      short_commit(commit)));
    return nullptr;
  }
  return &*entry->second;
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
