#include "sources/analysis.h"

#include <algorithm>
#include <array>

namespace flor::sources {
namespace {

/// Replaces the characters that the runtime replaces in names of loops.
std::string safe_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '~' || c == ',' || c == '@' || static_cast<unsigned char>(c) < 32) c = '_';
  }
  return name;
}

std::string site_name(const ForLoop& loop) {
  return loop.naming == ForLoop::Naming::literal ? safe_name(loop.name) : "loop";
}

/// Whether the change lies in `range`. A removed text lies in it if both of its neighbours do.
bool lies_in(const Change& change, Range range) {
  return change.now.empty() ? range.begin < change.now.begin && change.now.begin < range.end
                            : change.now.begin < range.end && range.begin < change.now.end;
}

/// The components of a path from last to first, without "." and "..".
std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find_last_of("/\\");
    const std::string_view part = slash == path.npos ? path : path.substr(slash + 1);
    if (part == "..") break;
    if (!part.empty() && part != ".") parts.push_back(part);
    path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  }
  return parts;
}

}  // namespace

bool is_source(std::string_view path) {
  static constexpr std::array<std::string_view, 21> kExtensions = {
      "c",   "cc",  "cpp", "cxx", "c++", "C",   "h",  "hh",  "hpp", "hxx", "h++",
      "inl", "ipp", "tpp", "txx", "inc", "def", "cu", "cuh", "ixx", "cppm"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot != name.npos &&
         std::ranges::find(kExtensions, name.substr(dot + 1)) != kExtensions.end();
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  const auto x = components(a), y = components(b);
  std::size_t count = 0;
  while (count < x.size() && count < y.size() && x[count] == y[count]) ++count;
  return count;
}

Analysis::Analysis(AnalysisInput input, std::size_t work_max)
    : nested_(input.nested),
      main_(input.main),
      work_max_(work_max),
      stale_(input.stale),
      complete_(input.complete) {
  read(input);
  changes_ = find_changes(before_, now_, rest_);
  // Changes in sources of other programs in the repository count only if this program may share
  // those sources.
  const auto foreign = [&](const Change& change) {
    return change.source && std::ranges::find(sources_, change.source) == sources_.end();
  };
  std::erase_if(changes_.all, foreign);
  std::erase_if(changes_.computation, foreign);
  if (changes_.all.empty()) return;
  callers_.emplace(sources_);
  callers_->follow(changes_.all);
  find_sites();
  find_walk();
  sort_changes();
}

void Analysis::read(AnalysisInput& input) {
  for (ChangedText& file : input.changed) {
    if (file.before) {
      before_.push_back(std::make_unique<Source>(file.path, std::move(*file.before)));
    }
    if (file.now) now_.push_back(std::make_unique<Source>(file.path, std::move(*file.now)));
  }
  for (SourceText& file : input.rest) {
    rest_.push_back(std::make_unique<Source>(std::move(file.path), std::move(file.text)));
  }
  for (const auto* list : {&now_, &rest_}) {
    for (const SourcePointer& source : *list) sources_.push_back(source.get());
  }
  const auto programs = matching(input.program);
  if (programs.size() == 1) program_ = programs.front();
  if (!program_) return;
  std::erase_if(sources_, [&](const Source* source) {
    return source->structure.has_main && source != program_ && program_->structure.has_main;
  });
}

const Questions& Analysis::questions() const {
  if (!questions_) questions_.emplace(sources_, changes_.all, main_loops(), work_max_);
  return *questions_;
}

void Analysis::find_sites() {
  for (const Source* source : sources_) {
    for (const ForLoop& loop : source->structure.loops) {
      if (loop.naming != ForLoop::Naming::none) sites_.push_back({source, &loop});
    }
  }
  std::set<std::string> told;
  for (const Site& site : sites_) {
    if (site.loop->naming == ForLoop::Naming::computed) continue;
    const std::string name = site_name(*site.loop);
    if (!nested_.contains(name) || told.contains(name)) continue;
    if (auto reason = why(*site.source, site.loop->range)) {
      told.insert(name);
      reason->loop = name;
      touched_.push_back(std::move(*reason));
    }
  }
}

void Analysis::find_walk() {
  for (const Site& site : sites_) {
    if (site.loop->naming == ForLoop::Naming::computed || !main_.contains(site_name(*site.loop))) {
      continue;
    }
    if (const auto read = questions().of_main(*site.source, site.loop->range)) {
      walk_ = explain(*read->change, true) + left_behind(*read, site_name(*site.loop) + " changes");
      return;
    }
  }
}

std::vector<std::pair<const Source*, Range>> Analysis::main_loops() const {
  std::vector<std::pair<const Source*, Range>> main;
  for (const Site& site : sites_) {
    const bool known = site.loop->naming != ForLoop::Naming::computed;
    if (known && main_.contains(site_name(*site.loop))) {
      main.emplace_back(site.source, site.loop->range);
    }
  }
  return main;
}

Proof Analysis::proof() const {
  if (nothing_changed()) return {false, "the sources are the recorded ones"};
  if (stale_) return {false, "the program is older than its sources"};
  if (!complete_) return {false, "not all sources could be read"};
  if (main_loops().empty()) return {false, "the main loop is not in these sources"};
  for (const Touched& changed : computation_) return {false, changed.why};
  if (auto reason = questions().unproven()) return {false, std::move(*reason)};
  return {true, {}};
}

Leaving Analysis::leaving(const ReportedPlace& place) const {
  if (stale_) return Leaving::unknown;  // the built program may have other code at that place
  Leaving leaving = Leaving::unknown;
  for (const Source* source : matching(place.file)) {
    const auto range = region(*source, place);
    if (!range) continue;
    if (questions().leaves_function(*source, *range)) return Leaving::possible;
    leaving = Leaving::impossible;
  }
  return leaving;
}

std::string Analysis::explain(const Change& change, bool inside) const {
  std::string text = change.where;
  if (!inside && !change.label.empty()) text += " (" + change.label + ")";
  return text + " " + change.what;
}

/// For example ", with 'sum' that the loop may leave behind and that is not registered".
std::string Analysis::left_behind(const Questions::Read& read, std::string_view how) const {
  if (!questions().complete()) return ", and the sources are too many to find out what that reads";
  if (read.outside) {
    return ", which calls code that these sources do not show, and so does what is skipped";
  }
  if (read.variable.empty()) return ", and the function around the loop is not found";
  return ", with '" + read.variable + "' that " + std::string(how) + " and that is not registered";
}

std::optional<Analysis::Touched> Analysis::why(const Source& source, Range range) const {
  const Change* inside = nullptr;
  for (const Change& change : changes_.all) {
    if (change.source != &source || !lies_in(change, range)) continue;
    // Statements that log or print are what the user asked for, so one of them is named first.
    if (!inside || (inside->what.front() == '\'' && change.what.front() != '\'')) inside = &change;
  }
  const auto changed = [](std::string reason) { return Touched{{}, std::move(reason), {}}; };
  if (inside) return changed(explain(*inside, true));
  std::optional<std::size_t> change = callers_->reached_from(source, range);
  if (!change) change = callers_->anywhere();
  if (change) return changed(explain(changes_.all[*change], false));
  if (const auto read = questions().of_nested(source, range)) {
    return Touched{{},
                   explain(*read->change, true) + left_behind(*read, "the loop may leave behind"),
                   read->question};
  }
  // Code that was not read may call a changed function.
  if (complete_) return std::nullopt;
  for (const Change& other : changes_.all) {
    if (other.function) return changed(explain(other, false));
  }
  return std::nullopt;
}

std::optional<Analysis::Touched> Analysis::why_by_name(std::string_view name) const {
  for (const Site& site : sites_) {
    if (site.loop->naming != ForLoop::Naming::computed && site_name(*site.loop) != name) continue;
    if (auto reason = why(*site.source, site.loop->range)) return reason;
  }
  if (const auto change = callers_->anywhere()) {
    return Touched{{}, explain(changes_.all[*change], false), {}};
  }
  return std::nullopt;
}

std::optional<Analysis::Touched> Analysis::touched(const ReportedPlace& place,
                                                   std::string_view name) const {
  if (!callers_) return std::nullopt;
  bool found = false;
  for (const Source* source : matching(place.file)) {
    const auto range = region(*source, place);
    if (!range) continue;
    found = true;
    if (auto reason = why(*source, *range)) return reason;
  }
  if (found && !stale_) return std::nullopt;
  return why_by_name(name);
}

/// The sources that the compiler may have called `file`.
std::vector<const Source*> Analysis::matching(std::string_view file) const {
  std::vector<const Source*> best;
  std::size_t most = 1;
  for (const Source* source : sources_) {
    const std::size_t count = common_suffix(source->path, file);
    if (count < most) continue;
    if (count > most) best.clear();
    most = count;
    best.push_back(source);
  }
  return best;
}

/// The loop statement whose position is `place`.
std::optional<Range> Analysis::region(const Source& source, const ReportedPlace& place) const {
  const auto& tokens = source.tokens.all;
  // The compiler reports the position of the range in the header, or of a macro that expands to the
  // loop.
  const auto behind = std::ranges::upper_bound(
      tokens, std::pair(place.line, place.column), {},
      [](const Token& token) { return std::pair(token.line, token.column); });
  if (behind == tokens.begin() || (behind == tokens.end() && tokens.back().line < place.line)) {
    return std::nullopt;
  }
  auto at = static_cast<std::size_t>(behind - tokens.begin()) - 1;
  const ForLoop* innermost = nullptr;
  for (const ForLoop& loop : source.structure.loops) {
    if (loop.range.begin <= at && at < loop.header.end) innermost = &loop;
  }
  if (innermost) return innermost->range;
  if (tokens[at].line != place.line) return std::nullopt;
  const std::size_t open = source.structure.brackets.partner[at];
  if (tokens[at].is(")") && open != Brackets::kNone && open > 0) at = open - 1;
  if (tokens[at].kind == TokenKind::identifier && !tokens[at].directive) {
    // The region of a macro: its name, its arguments, and the statement after it.
    std::size_t end = at + 1;
    if (end < tokens.size() && tokens[end].is("(")) {
      const std::size_t close = source.structure.brackets.partner[end];
      end = close == Brackets::kNone || close < end ? end + 1 : close + 1;
    }
    if (end < tokens.size() && !tokens[end].is(";")) {
      return Range{at, statement_end(tokens, source.structure.brackets, end)};
    }
  }
  for (const Piece& piece : source.structure.pieces) {
    if (piece.range.holds(at)) return piece.range;
  }
  return std::nullopt;
}

const Analysis::Site* Analysis::nested_site(const Change& change) const {
  for (const Site& site : sites_) {
    if (site.source == change.source && lies_in(change, site.loop->range) &&
        site.loop->naming != ForLoop::Naming::computed && nested_.contains(site_name(*site.loop))) {
      return &site;
    }
  }
  return nullptr;
}

bool Analysis::concerns_program(const Change& change) {
  return !program_ || change.source == program_ || change.anywhere ||
         callers_->uses(*program_, change.names);
}

void Analysis::sort_changes() {
  std::set<std::string> told;
  for (const Change& change : changes_.computation) {
    if (!concerns_program(change)) continue;
    const Site* site = nested_site(change);
    Touched entry{site ? site_name(*site->loop) : std::string(), explain(change, true), {}};
    if (told.insert(change.where).second) computation_.push_back(std::move(entry));
  }
  for (const Change& change : changes_.all) {
    if (nested_site(change) || !concerns_program(change)) continue;
    if (told.insert(change.where).second) looking_.push_back(explain(change, true));
  }
}

}  // namespace flor::sources
