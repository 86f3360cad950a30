#include "hindsight/version_questions.h"

#include "git/merge.h"
#include "sources/analysis.h"

#include <algorithm>

namespace flor::cli {
namespace {

// A user's own program has less text than this.
constexpr std::size_t kBytesMax = 16u << 20;

carry::Carrier carrier_of(const git::Repository& repository, const std::string& newest,
                          const std::vector<std::filesystem::path>& without) {
  std::vector<carry::FileText> base, work;
  for (git::ComparedFile& file :
       repository.compare_work_tree(newest, sources::is_source, without)) {
    if (file.same) continue;
    if (file.before) base.push_back({file.path, std::move(*file.before)});
    if (file.now) work.push_back({file.path, std::move(*file.now)});
  }
  return {base, work};
}

std::set<std::string> names_in(const carry::LogHunk& hunk) {
  const carry::Source source("", hunk.text);
  return carry::logged_names(source, {0, source.tokens.all.size()});
}

}  // namespace

Questions::Questions(git::Repository repository, const std::string& newest,
                     const std::vector<std::filesystem::path>& without)
    : repository_(std::move(repository)), carrier_(carrier_of(repository_, newest, without)) {}

std::set<int> Questions::hunks_that_log(const std::string& name) const {
  std::set<int> numbers;
  for (const carry::Addition& addition : hunks()) {
    if (std::ranges::count(names_in(addition.hunk), name) > 0) numbers.insert(addition.hunk.number);
  }
  return numbers;
}

PatchedVersion Questions::patch(const std::string& commit, const std::set<int>& chosen) const {
  PatchedVersion version;
  version.sources = repository_.files_at(commit, sources::is_source);
  std::vector<carry::FileText> older;
  std::size_t bytes = 0;
  for (const auto& [path, text] : version.sources) bytes += text.size();
  for (const auto& [path, text] : version.sources) {
    // In a larger repository only files that may contain a loop are read, and the files of the
    // hunks.
    const bool needed =
        bytes <= kBytesMax || text.find("flor::") != text.npos ||
        std::ranges::any_of(hunks(), [&path = path](const carry::Addition& addition) {
          return addition.hunk.path == path;
        });
    if (needed) older.push_back({path, text});
  }
  version.carried = carrier_.carry(older, chosen);
  for (const carry::FileText& file : version.carried.files) {
    version.edits[file.path] = file.text;
    version.patch += git::diff_texts(file.path, version.sources.at(file.path), file.text);
  }
  for (const carry::Placed& placed : version.carried.placed) {
    for (const std::string& name : names_in(hunk(placed.hunk))) {
      if (std::ranges::find(version.metrics, name) == version.metrics.end()) {
        version.metrics.push_back(name);
      }
    }
  }
  return version;
}

std::vector<std::string> Questions::loops_to_execute(const PatchedVersion& version,
                                                     const std::set<std::string>& nested) {
  sources::AnalysisInput input;
  for (const auto& [path, text] : version.sources) {
    const auto edit = version.edits.find(path);
    if (edit != version.edits.end()) {
      input.changed.push_back({path, text, edit->second});
    } else {
      input.rest.push_back({path, text});
    }
  }
  input.nested = nested;
  std::vector<std::string> loops;
  const sources::Analysis analysis(std::move(input));
  for (const auto& touched : analysis.touched()) loops.push_back(touched.loop);
  return loops;
}

git::Repository repository_to_ask(const store::Run& run, const std::string& commit) {
  auto here = git::Repository::discover(std::filesystem::current_path());
  if (here && here->commit(commit)) return std::move(*here);
  return repository_of(run);
}

}  // namespace flor::cli
