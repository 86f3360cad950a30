#include "carry/carrier.h"

#include "carry/insertion.h"
#include "carry/matching.h"
#include "carry/position.h"
#include "git/merge.h"
#include "sources/syntax/logging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flor::carry {
namespace {

using sources::TokenKind;
using Words = std::set<std::string_view>;

/// A hunk whose place was found.
struct Found {
  Placed placed;
  std::size_t file = 0;   ///< index among the older files
  std::size_t token = 0;  ///< the token before which the hunk is inserted
  std::string text;
};

/// The first conflict of a merged text, with its markers.
std::string conflict_in(const std::string& text) {
  const std::size_t begin = text.find("<<<<<<< ");
  if (begin == text.npos) return {};
  std::size_t end = text.find(">>>>>>> ", begin);
  end = end == text.npos ? text.size() : std::min(text.find('\n', end), text.size());
  return text.substr(begin, end - begin);
}

class Carriage {
 public:
  Carriage(const Additions& additions, const std::vector<FileText>& older, std::set<int> chosen)
      : additions_(additions),
        older_(trees(older)),
        chosen_(with_company(std::move(chosen))),
        matching_(additions.work, older_, ignored()) {}

  Carried run() {
    for (const Addition& addition : additions_.hunks) {
      if (!chosen_.contains(addition.hunk.number)) continue;
      carry(addition);
    }
    refuse_company();
    add_helpers();
    refuse_company();
    write();
    std::ranges::sort(out_.refused, {}, &Refused::hunk);
    std::ranges::sort(out_.placed, {}, &Placed::hunk);
    return std::move(out_);
  }

 private:
  static std::vector<Tree> trees(const std::vector<FileText>& files) {
    std::vector<Tree> all;
    all.reserve(files.size());
    for (const FileText& file : files) {
      all.emplace_back(std::make_shared<Source>(file.path, file.text));
    }
    return all;
  }

  std::set<int> with_company(std::set<int> chosen) const {
    std::set<int> all;
    for (const Addition& addition : additions_.hunks) {
      if (!chosen.empty() && !chosen.contains(addition.hunk.number)) continue;
      all.insert(addition.hunk.number);
      all.insert(addition.hunk.needs.begin(), addition.hunk.needs.end());
    }
    return all;
  }

  std::vector<std::vector<Range>> ignored() const {
    std::vector<std::vector<Range>> ranges(additions_.work.size());
    for (const Addition& hunk : additions_.hunks) ranges[hunk.file].push_back(hunk.range);
    for (const Helper& helper : additions_.helpers) ranges[helper.file].push_back(helper.range);
    for (auto& list : ranges) std::ranges::sort(list, {}, &Range::begin);
    return ranges;
  }

  void refuse(int hunk, std::string reason, std::string conflict = {}) {
    found_.erase(hunk);
    if (refused_.insert(hunk).second) {
      out_.refused.push_back({hunk, std::move(reason), std::move(conflict)});
    }
  }

  const Source& work(const Addition& hunk) const { return additions_.work[hunk.file].source(); }

  void carry(const Addition& addition) {
    const Block& block = *addition.block;
    Found found;
    found.placed.hunk = addition.hunk.number;
    const Merge merge = merged(addition);
    const auto no = [&](std::string reason) {
      refuse(addition.hunk.number, std::move(reason), merge.conflict);
    };
    const BlockMatch match = matching_.find(addition.file, block);
    if (!match.block) return no(match.reason);
    found.file = match.file;
    found.placed.remarks = match.remarks;
    const Tree& tree = older_[match.file];
    const Source& there = tree.source();
    found.placed.path = there.path;
    if (!find_names(addition, match, found, no)) return;
    const bool present = is_present(addition, match, found);
    if (const auto name = logged_already(addition, *match.block, there);
        !present && !name.empty()) {
      return no(fmt::format("it logs \"{}\" there in another way", name));
    }
    const Position position =
        find_position({.source = work(addition), .block = block, .index = addition.index},
                      {.source = there, .block = *match.block},
                      matching_.names_in(*piece_of(block)), spoken(addition, found.placed.renamed));
    if (!position.found) return no(position.reason);
    found.token = position.token;
    found.placed.where = position.where;
    if (present) {
      found.placed.present = true;
      found.placed.line = there.line(found.token);
      found_.emplace(addition.hunk.number, std::move(found));
      return;
    }
    if (const auto name = collision(addition, match); !name.empty()) {
      return no(fmt::format("'{}', which the hunk declares, is something else there", name));
    }
    if (conditions_at(work(addition), addition.range.begin) != conditions_at(there, found.token)) {
      return no("it stands under other #if conditions there");
    }
    if (merge.clean && there.path == addition.hunk.path) {
      if (!merge.agrees(there, found.token)) {
        return no(
            fmt::format("a merge puts it on line {}, its neighbours on line {}: it cannot be "
                        "told which is meant",
                        merge.line, there.line(found.token)));
      }
      found.placed.merged = true;
    }
    const auto text =
        text_with_names(work(addition), addition.range, addition.hunk.text, found.placed.renamed,
                        indentation_in(there, *match.block, position.index));
    if (!text) return no("a line of it is continued by a backslash");
    found.text = *text;
    found_.emplace(addition.hunk.number, std::move(found));
  }

  /// Finds the older version's names for those that the hunk uses. Returns false if the hunk was
  /// refused.
  template <typename No>
  bool find_names(const Addition& addition, const BlockMatch& match, Found& found, const No& no) {
    const Statement& function = *piece_of(*addition.block);
    const Statement& there = *piece_of(*match.block);
    for (const std::string& name : free_names(addition)) {
      NameMatch known = matching_.name(addition.file, function, name, match.file, there);
      if (known.kind == NameMatch::Kind::ambiguous) {
        no(known.reason);
        return false;
      }
      if (known.kind == NameMatch::Kind::missing) {
        if (is_declared(name)) {
          no(fmt::format("nothing is called '{}' there", name));
          return false;
        }
        found.placed.missing.push_back(name);
      }
      if (known.kind != NameMatch::Kind::renamed) continue;
      found.placed.remarks.push_back(fmt::format("'{}' is called '{}'", name, known.name));
      found.placed.renamed.emplace(name, std::move(known.name));
    }
    return true;
  }

  /// The names that the hunk uses but does not declare.
  std::set<std::string> free_names(const Addition& addition) const {
    std::set<std::string> own = addition.declares, names;
    for (const Addition& other : additions_.hunks) {
      if (addition.hunk.needs.contains(other.hunk.number)) {
        own.insert(other.declares.begin(), other.declares.end());
      }
    }
    for (const Helper& helper : additions_.helpers) own.insert(helper.name);
    const auto& tokens = work(addition).tokens.all;
    for (std::size_t i = addition.range.begin; i < addition.range.end; ++i) {
      const Token& token = tokens[i];
      if (token.kind != TokenKind::identifier || sources::is_keyword(token.text)) continue;
      if (token.is("flor") || token.is("std")) continue;
      const bool of_namespace =
          i > 1 && tokens[i - 1].is("::") && (tokens[i - 2].is("flor") || tokens[i - 2].is("std"));
      const std::string name(token.text);
      if (!of_namespace && !own.contains(name) && matching_.knows(name)) names.insert(name);
    }
    return names;
  }

  /// Whether the work tree's sources declare the name; if not, it may be a library's.
  bool is_declared(const std::string& name) {
    if (declared_.empty()) {
      for (const Tree& tree : additions_.work) {
        declared_.merge(declared_names(tree.source(), tree.root().inner));
      }
    }
    return declared_.contains(name);
  }

  /// All names that the hunk uses, as the older version spells them.
  std::set<std::string> spoken(const Addition& addition,
                               const std::map<std::string, std::string>& renamed) const {
    std::set<std::string> words;
    const auto& tokens = work(addition).tokens.all;
    for (std::size_t i = addition.range.begin; i < addition.range.end; ++i) {
      if (tokens[i].kind != TokenKind::identifier) continue;
      const auto other = renamed.find(std::string(tokens[i].text));
      words.insert(other == renamed.end() ? std::string(tokens[i].text) : other->second);
    }
    return words;
  }

  /// The hunk's tokens with the older version's names.
  std::vector<Token> tokens_of(const Addition& addition, const Found& found) const {
    std::vector<Token> tokens;
    for (std::size_t i = addition.range.begin; i < addition.range.end; ++i) {
      Token token = work(addition).tokens.all[i];
      if (token.kind == TokenKind::identifier) {
        const auto other = found.placed.renamed.find(std::string(token.text));
        if (other != found.placed.renamed.end()) token.text = other->second;
      }
      tokens.push_back(token);
    }
    return tokens;
  }

  /// Whether the block has the hunk's statements already, directly and not in an inner block.
  bool is_present(const Addition& addition, const BlockMatch& match, const Found& found) const {
    const std::vector<Token> tokens = tokens_of(addition, found);
    const Source& older = older_[match.file].source();
    const auto& there = older.tokens.all;
    const std::string conditions = conditions_at(work(addition), addition.range.begin);
    const auto& statements = match.block->statements;
    const auto same = [](const Token& a, const Token& b) { return sources::same(a, b); };
    return std::ranges::any_of(statements, [&](const auto& first) {
      const std::size_t begin = first->range.begin, end = begin + tokens.size();
      const bool whole =
          std::ranges::any_of(statements, [&](const auto& last) { return last->range.end == end; });
      return whole && conditions_at(older, begin) == conditions &&
             std::equal(tokens.begin(), tokens.end(),
                        there.begin() + static_cast<std::ptrdiff_t>(begin), same);
    });
  }

  /// Names that the block logs, directly or in inner blocks. Named loops in it do not count: their
  /// values are logged at another place.
  static std::set<std::string> logged_in(const Block& block, const Source& source) {
    std::set<std::string> names;
    for (const auto& statement : block.statements) {
      std::size_t at = statement->range.begin;
      for (const auto& inner : statement->blocks) {
        names.merge(logged_names(source, {at, inner->inner.begin}));
        if (!inner->loop) names.merge(logged_in(*inner, source));
        at = inner->inner.end;
      }
      names.merge(logged_names(source, {at, statement->range.end}));
    }
    return names;
  }

  /// A name that the hunk logs, and that the older version's block logs already although the work
  /// tree's block does not; empty if there is none.
  std::string logged_already(const Addition& addition, const Block& there,
                             const Source& source) const {
    const auto before = logged_in(*addition.block, work(addition));
    const auto logged = logged_in(there, source);
    for (const auto& name : logged_names(work(addition), addition.range)) {
      if (logged.contains(name) && !before.contains(name)) return name;
    }
    return {};
  }

  /// A name that the hunk declares, and that the older version's function uses already; empty if
  /// there is none.
  std::string collision(const Addition& addition, const BlockMatch& match) const {
    const auto words =
        sources::identifiers(older_[match.file].tokens(), piece_of(*match.block)->range);
    for (const std::string& name : addition.declares) {
      if (words.contains(name)) return name;
    }
    return {};
  }

  struct Merge {
    bool clean = false;
    std::string conflict;
    std::uint32_t line = 0;
    std::shared_ptr<const Source> result;
    std::vector<Token> hunk;

    /// Whether the merged text equals `source` with the hunk inserted before the token `at`.
    bool agrees(const Source& source, std::size_t at) const {
      const auto &before = source.tokens.all, &now = result->tokens.all;
      if (now.size() != before.size() + hunk.size()) return false;
      const auto same = [](const Token& a, const Token& b) { return sources::same(a, b); };
      const auto begin = now.begin();
      const auto k = static_cast<std::ptrdiff_t>(at);
      const auto n = static_cast<std::ptrdiff_t>(hunk.size());
      return std::equal(before.begin(), before.begin() + k, begin, begin + k, same) &&
             std::equal(hunk.begin(), hunk.end(), begin + k, begin + k + n, same) &&
             std::equal(before.begin() + k, before.end(), begin + k + n, now.end(), same);
    }
  };

  /// Merges the hunk's file into the older file of the same path line by line, if there is one.
  Merge merged(const Addition& addition) const {
    Merge merge;
    const Source& source = work(addition);
    const auto there = std::ranges::find_if(
        older_, [&](const Tree& tree) { return tree.source().path == source.path; });
    if (there == older_.end()) return merge;
    std::vector<Range> all = ignored_in(addition.file), others = all;
    std::erase(others, addition.range);
    const git::MergedText text =
        git::merge_texts(without(source, all), there->source().text, without(source, others),
                         "this version", "the log statement");
    merge.clean = text.clean;
    if (!text.clean) {
      merge.conflict = conflict_in(text.text);
      return merge;
    }
    merge.result = std::make_shared<Source>(source.path, text.text);
    for (std::size_t i = addition.range.begin; i < addition.range.end; ++i) {
      merge.hunk.push_back(source.tokens.all[i]);
    }
    const auto &before = there->tokens(), &now = merge.result->tokens.all;
    std::size_t first = 0;
    while (first < before.size() && first < now.size() &&
           sources::same(before[first], now[first])) {
      ++first;
    }
    merge.line = merge.result->line(first);
    return merge;
  }

  std::vector<Range> ignored_in(std::size_t file) const { return ignored()[file]; }

  /// Refuses hunks that share variables with a refused hunk.
  void refuse_company() {
    for (bool more = true; more;) {
      more = false;
      for (const Addition& addition : additions_.hunks) {
        const int number = addition.hunk.number;
        if (!found_.contains(number)) continue;
        const auto lost = std::ranges::find_if(addition.hunk.needs,
                                               [&](int other) { return refused_.contains(other); });
        if (lost == addition.hunk.needs.end()) continue;
        refuse(number, fmt::format("it shares variables with hunk {}, which was refused", *lost));
        more = true;
      }
    }
  }

  void add_helpers() {
    for (const Helper& helper : additions_.helpers) {
      std::set<std::size_t> files;
      for (const auto& [number, found] : found_) {
        if (helper.hunks.contains(number) && !found.placed.present) files.insert(found.file);
      }
      for (const std::size_t file : files) add_helper(helper, file);
    }
  }

  void add_helper(const Helper& helper, std::size_t file) {
    const Source& source = additions_.work[helper.file].source();
    const Tree& tree = older_[file];
    const auto refuse_users = [&](const std::string& reason) {
      for (const int hunk : helper.hunks) {
        if (found_.contains(hunk)) refuse(hunk, reason);
      }
    };
    for (const Tree& other : older_) {
      if (helper.name.empty() && &other != &tree) continue;
      for (const auto& piece : other.root().statements) {
        if (same_tokens(source, helper.range, other.source(), piece->range)) return;
      }
      if (helper.name.empty()) continue;
      if (sources::identifiers(other.tokens(), other.root().inner).contains(helper.name)) {
        return refuse_users(
            fmt::format("'{}', which it needs, is something else there", helper.name));
      }
    }
    std::size_t begin = 0, end = 0;
    const auto place = place_of(helper, file);
    if (!place || !bytes_of(source, helper.range, begin, end)) {
      return refuse_users(fmt::format("there is no place for '{}'", source.excerpt(helper.range)));
    }
    helpers_[file].push_back({.token = *place,
                              .text = source.text.substr(begin, end - begin),
                              .apart = !helper.name.empty()});
    helper_tokens_[file].push_back(
        {*place, source.tokens.all.begin() + static_cast<std::ptrdiff_t>(helper.range.begin),
         source.tokens.all.begin() + static_cast<std::ptrdiff_t>(helper.range.end)});
  }

  /// The place for a helper: an #include goes after the other ones, a function before the first
  /// hunk that needs it.
  std::optional<std::size_t> place_of(const Helper& helper, std::size_t file) const {
    const Tree& tree = older_[file];
    const auto& pieces = tree.root().statements;
    if (helper.name.empty()) {
      std::optional<std::size_t> place;
      for (const auto& piece : pieces) {
        const bool include =
            piece->directive &&
            sources::directive_name(tree.tokens(), piece->range.begin) == "include";
        if (include && conditions_at(tree.source(), piece->range.begin).empty()) {
          place = piece->range.end;
        }
      }
      return place;
    }
    std::size_t first = tree.tokens().size();
    for (const auto& [number, found] : found_) {
      if (helper.hunks.contains(number) && found.file == file) first = std::min(first, found.token);
    }
    std::optional<std::size_t> place;
    for (const auto& piece : pieces) {
      if (piece->range.begin >= first) break;
      const bool fits = piece->piece->context == helper.context && piece->range.begin > 0 &&
                        conditions_at(tree.source(), piece->range.begin).empty();
      if (fits && piece->piece->kind == sources::PieceKind::function) place = piece->range.begin;
    }
    return place;
  }

  struct ExpectedTokens {
    std::size_t token;
    std::vector<Token>::const_iterator begin, end;
  };

  void write() {
    std::map<std::size_t, std::vector<Insertion>> insertions;
    std::map<std::size_t, std::vector<int>> numbers;
    for (const auto& [file, list] : helpers_) {
      insertions[file] = list;
      numbers[file].assign(list.size(), 0);
    }
    for (const Addition& addition : additions_.hunks) {
      const auto found = found_.find(addition.hunk.number);
      if (found == found_.end() || found->second.placed.present) continue;
      const Found& hunk = found->second;
      insertions[hunk.file].push_back({.token = hunk.token, .text = hunk.text, .apart = false});
      numbers[hunk.file].push_back(addition.hunk.number);
    }
    for (auto& [file, list] : insertions) write_file(file, list, numbers[file]);
    for (auto& [number, found] : found_) out_.placed.push_back(std::move(found.placed));
  }

  void write_file(std::size_t file, const std::vector<Insertion>& list,
                  const std::vector<int>& numbers) {
    const Source& source = older_[file].source();
    InsertedText text = insert(source, list);
    const auto patched = std::make_shared<Source>(source.path, text.text);
    if (!is_expected(file, *patched, list, numbers)) {
      for (const int number : numbers) {
        if (number > 0) refuse(number, "the text there cannot be patched without changing more");
      }
      return;
    }
    for (const auto& [begin, end] : text.ranges) out_.inserted.push_back({source.path, begin, end});
    set_lines(text, list, numbers);
    out_.files.push_back({source.path, std::move(text.text)});
  }

  void set_lines(const InsertedText& text, const std::vector<Insertion>& list,
                 const std::vector<int>& numbers) {
    std::vector<std::size_t> order(list.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return list[i].token; });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto found = found_.find(numbers[order[k]]);
      if (found == found_.end()) continue;
      std::size_t begin = text.ranges[k].first;
      while (begin < text.text.size() && (text.text[begin] == '\n' || text.text[begin] == '\r'))
        ++begin;
      const auto lines = std::count(text.text.begin(),
                                    text.text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
      found->second.placed.line = static_cast<std::uint32_t>(lines) + 1;
    }
  }

  /// Whether the patched text consists of the old tokens plus those of the hunks.
  bool is_expected(std::size_t file, const Source& patched, const std::vector<Insertion>& list,
                   const std::vector<int>& numbers) const {
    std::vector<std::pair<std::size_t, std::vector<Token>>> added;
    const auto helpers = helper_tokens_.find(file);
    if (helpers != helper_tokens_.end()) {
      for (const ExpectedTokens& tokens : helpers->second) {
        added.emplace_back(tokens.token, std::vector<Token>(tokens.begin, tokens.end));
      }
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (numbers[i] == 0) continue;
      const Addition& addition = additions_.hunks[static_cast<std::size_t>(numbers[i] - 1)];
      added.emplace_back(list[i].token, tokens_of(addition, found_.at(numbers[i])));
    }
    std::ranges::stable_sort(added, {}, [](const auto& entry) { return entry.first; });
    std::vector<Token> expected;
    const auto& old = older_[file].tokens();
    std::size_t at = 0;
    for (const auto& [token, tokens] : added) {
      expected.insert(expected.end(), old.begin() + static_cast<std::ptrdiff_t>(at),
                      old.begin() + static_cast<std::ptrdiff_t>(token));
      expected.insert(expected.end(), tokens.begin(), tokens.end());
      at = token;
    }
    expected.insert(expected.end(), old.begin() + static_cast<std::ptrdiff_t>(at), old.end());
    return std::ranges::equal(expected, patched.tokens.all,
                              [](const Token& a, const Token& b) { return sources::same(a, b); });
  }

  const Additions& additions_;
  std::vector<Tree> older_;
  std::set<int> chosen_;
  Matching matching_;
  std::set<std::string> declared_;
  std::map<int, Found> found_;
  std::set<int> refused_;
  std::map<std::size_t, std::vector<Insertion>> helpers_;  // by file
  std::map<std::size_t, std::vector<ExpectedTokens>> helper_tokens_;
  Carried out_;
};

}  // namespace

Carrier::Carrier(const std::vector<FileText>& base, const std::vector<FileText>& work)
    : additions_(find_additions(base, work)) {}
Carrier::~Carrier() = default;
Carrier::Carrier(Carrier&&) noexcept = default;

Carried Carrier::carry(const std::vector<FileText>& older, const std::set<int>& chosen) const {
  return Carriage(additions_, older, chosen).run();
}

}  // namespace flor::carry
