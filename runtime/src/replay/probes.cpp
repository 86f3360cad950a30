#include "replay/probes.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "git/shadow.h"
#include "session/build_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

// Limits in bytes of the files that are read, above the size of a user's sources. If there is more,
// the program is assumed to have callers outside the sources read.
constexpr std::uintmax_t kFileBytesMax = 4u << 20, kAllBytesMax = 64u << 20;

/// Directories that may hold the program's sources: the one that a flag names, or else those of its
/// source file, its build, the process, its binary and the recording. The last is left out for a
/// fetched run, since comparing files may execute programs that its repository names.
std::vector<fs::path> places_of_sources(const Flags& flags, const store::Run& run) {
  if (!flags.sources.empty()) return {flags.sources};
  std::vector<fs::path> places;
  const fs::path source = flags.source_file;
  if (source.is_absolute()) places.push_back(source.parent_path());
  if (const auto recipe = program_recipe()) places.emplace_back(recipe->source_directory);
  places.push_back(fs::current_path());
  places.push_back(program_file().parent_path());
  if (run.origin.recorded_here() && !run.start.repository.empty()) {
    places.emplace_back(run.start.repository);
  }
  return places;
}

/// The first repository in these places that has the commit.
std::optional<git::Repository> repository_with(const std::string& commit,
                                               const std::vector<fs::path>& places) {
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) continue;
    try {
      auto repository = git::Repository::discover(place);
      if (repository && repository->commit(commit)) return repository;
    } catch (const Error&) {
      continue;  // an unusable repository does not count
    }
  }
  return std::nullopt;
}

std::optional<std::string> content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Probes::Probes(const Flags& flags, const store::Run& run, std::set<std::string> nested,
               std::set<std::string> main, bool left_early, const fs::path& home)
    : enabled_(!flags.no_probe),
      finding_(enabled_ && flags.probes.empty()),
      left_early_(left_early),
      named_(flags.probes),
      nested_(std::move(nested)),
      main_(std::move(main)),
      loops_(flags.probes) {
  try {
    find(flags, run, home);
  } catch (const std::exception& error) {
    problem_ = error.what();
  }
  // The proof of the sources only holds if the loops that they name are executed.
  proof_ = !analysis_ ? sources::Proof{false, problem_}
           : finding_ ? analysis_->proof()
                      : sources::Proof{false, "the loops to execute were named"};
  if (!analysis_ || !finding_) return;
  for (const auto& touched : analysis_->touched()) {
    loops_.push_back(touched.loop);
    told_.insert(touched.loop);
  }
}

void Probes::find(const Flags& flags, const store::Run& run, const fs::path& home) {
  if (flags.as_recorded) {
    analysis_ = std::make_unique<sources::Analysis>(sources::AnalysisInput{});
    return;
  }
  if (run.start.commit.empty()) {
    problem_ = "the run was recorded without git";
    return;
  }
  const auto repository = repository_with(run.start.commit, places_of_sources(flags, run));
  if (!repository) {
    problem_ = fmt::format("the recorded commit {} is in no repository here",
                           run.start.commit.substr(0, 10));
    return;
  }
  const fs::path& root = repository->work_tree();
  const OtherPrograms others = OtherPrograms::of_this();
  sources::AnalysisInput input;
  std::vector<std::string> rest;
  for (git::ComparedFile& file :
       repository->compare_work_tree(run.start.commit, is_source_of_program, {home})) {
    // A file that no longer exists may have been the program's.
    if ((file.same || file.now) && others.hold(root / file.path)) continue;
    if (file.same) {
      rest.push_back(std::move(file.path));
    } else {
      input.changed.push_back({std::move(file.path), std::move(file.before), std::move(file.now)});
    }
  }
  if (!input.changed.empty() || left_early_) {
    std::uintmax_t bytes = 0;
    for (std::string& path : rest) {
      std::error_code error;
      const std::uintmax_t size = fs::file_size(root / path, error);
      if (error) continue;
      input.complete = input.complete && size <= kFileBytesMax && bytes + size <= kAllBytesMax;
      if (size > kFileBytesMax || (bytes += size) > kAllBytesMax) continue;
      if (auto text = content_of(root / path)) {
        input.rest.push_back({std::move(path), std::move(*text)});
      }
    }
  }
  warn_if_older(root, input.changed);
  input.stale = !older_.empty();
  input.program = flags.source_file;
  input.nested = nested_;
  input.main = main_;
  const HostedProgram* hosted = hosted_program();
  analysis_ = hosted ? hosted->analyze(std::move(input))
                     : std::make_unique<sources::Analysis>(std::move(input));
}

void Probes::warn_if_older(const fs::path& root, const std::vector<sources::ChangedText>& changed) {
  if (hosted_program()) return;  // a script is executed from its sources
  std::error_code error;
  const auto built = fs::last_write_time(executable(), error);
  if (error) return;
  for (const sources::ChangedText& file : changed) {
    const auto written = fs::last_write_time(root / file.path, error);
    if (error || !file.now || written <= built) continue;
    older_ = file.path;
  }
}

void Probes::announce() const {
  if (!analysis_) {
    if (finding_) {
      say(Level::result, fmt::format("changed loops cannot be found, since {}: --flor_probe LOOP "
                                     "names those to step into",
                                     problem_));
    }
    return;
  }
  if (analysis_->nothing_changed()) return;
  if (!older_.empty()) {
    say(Level::warn, fmt::format("{} is older than {}: rebuild it, or your edit has no effect",
                                 executable().filename().string(), older_));
  }
  announce_found();
  announce_computation();
}

void Probes::announce_found() const {
  if (!enabled_) return;
  for (const auto& touched : analysis_->touched()) {
    if (finding_) {
      say(Level::result, fmt::format("stepping into {}: {}", touched.loop, touched.why));
    } else if (!is_named(touched.loop)) {
      say(Level::result, fmt::format("not stepping into {}, which --flor_probe does not name: {}",
                                     touched.loop, touched.why));
    }
  }
  if (walks()) say(Level::result, fmt::format("from the start: {}", analysis_->walk()));
  const auto& looking = analysis_->looking();
  if (!analysis_->touched().empty() || looking.empty() || !finding_) return;
  const std::string more =
      looking.size() > 1 ? fmt::format(" (and {} more)", looking.size() - 1) : "";
  say(Level::result, fmt::format("{}{}: outside the nested loops, so they need not be executed",
                                 looking.front(), more));
}

void Probes::announce_computation() const {
  constexpr std::size_t kTold = 5;
  const auto& changes = analysis_->computation();
  for (std::size_t i = 0; i < std::min(changes.size(), kTold); ++i) {
    const auto& [loop, what, question] = changes[i];
    if (loop.empty()) {
      say(Level::warn,
          fmt::format("{}: changed outside the nested loops; what is replayed computes "
                      "with it, what is loaded was recorded without it",
                      what));
    } else if (will_step_into(loop)) {
      say(Level::warn, fmt::format("{}: changes what {} computes, so that it may differ from the "
                                   "record",
                                   what, loop));
    } else {
      say(Level::warn,
          fmt::format("{}: changes what {} computes; it is loaded as it was recorded", what, loop));
    }
  }
  if (changes.size() > kTold) {
    say(Level::warn, fmt::format("{} more places compute something else than the record",
                                 changes.size() - kTold));
  }
}

bool Probes::may_ask_outside() const {
  if (!analysis_ || !older_.empty() || !analysis_->looking().empty()) return true;
  return std::ranges::any_of(analysis_->computation(),
                             [](const auto& change) { return change.loop.empty(); });
}

bool Probes::is_named(const std::string& loop) const {
  return std::ranges::find(named_, loop) != named_.end();
}

bool Probes::will_step_into(const std::string& loop) const {
  return enabled_ && (finding_ || is_named(loop));
}

Probes::Asked Probes::asked(const Frame& frame) {
  if (!enabled_) return {};
  if (frame.settings.probed || is_named(frame.name)) return {.named = true, .question = {}};
  if (!finding_ || !analysis_ || analysis_->nothing_changed()) return {};
  const LoopPlace& place = frame.place;
  const auto [known, inserted] = known_.try_emplace(
      fmt::format("{}:{}:{} {}", place.file, place.line, place.column, frame.name));
  if (!inserted) return known->second;
  if (const auto why = analysis_->touched({place.file, place.line, place.column}, frame.name)) {
    known->second = {.changed = why->question.empty(),
                     .read = !why->question.empty(),
                     .question = why->question};
    if (told_.insert(frame.name).second) {
      say(Level::result, fmt::format("stepping into {}: {}", frame.name, why->why));
    }
  }
  return known->second;
}

}  // namespace flor::detail
