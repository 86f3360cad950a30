#include "carry/additions.h"

#include "carry/alignment.h"
#include "sources/syntax/logging.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace flor::carry {
namespace {

using sources::PieceKind;
using sources::TokenKind;
using sources::Words;

std::string text_of(const Source& source, Range range) {
  std::string key;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    key += source.tokens.all[i].text;
    key += '\x1f';
  }
  return key;
}

/// The beginning of the comment lines directly above `begin` that the base version does not have;
/// `begin` if there are none.
std::size_t with_comments_above(const std::string& text, std::size_t begin,
                                const std::string& base) {
  const auto line_start = [&](std::size_t at) {
    const std::size_t newline = at == 0 ? text.npos : text.rfind('\n', at - 1);
    return newline == text.npos ? 0 : newline + 1;
  };
  std::size_t at = line_start(begin);
  if (text.find_first_not_of(" \t", at) != begin) return begin;
  std::size_t result = begin;
  while (at > 0) {
    const std::size_t above = line_start(at - 1);
    const std::size_t word = text.find_first_not_of(" \t", above);
    const std::string line = text.substr(above, at - above);
    if (text.compare(word, 2, "//") != 0 || base.find(line) != base.npos) break;
    if (line.ends_with("\\\n") || line.ends_with("\\\r\n")) break;
    result = word;
    at = above;
  }
  return result;
}

bool is_type_word(const Token& token) {
  static constexpr std::array<std::string_view, 14> kTypes = {
      "auto", "bool",  "char",   "const",    "constexpr", "double", "float",
      "int",  "short", "signed", "unsigned", "long",      "static", "void"};
  return std::ranges::find(kTypes, token.text) != kTypes.end();
}

bool uses(const Source& source, Range range, const std::string& name) {
  return std::ranges::any_of(
      source.tokens.all.begin() + static_cast<std::ptrdiff_t>(range.begin),
      source.tokens.all.begin() + static_cast<std::ptrdiff_t>(range.end),
      [&](const Token& t) { return t.kind == TokenKind::identifier && t.text == name; });
}

/// Compares a file of the work tree with the recorded version of it.
class FileComparison {
 public:
  FileComparison(std::size_t file, Tree& work, const Tree& base, Additions& out)
      : file_(file),
        work_(work),
        base_(base),
        out_(out),
        comparison_(work.source(), base.source(), {}) {}

  void run() {
    std::map<std::string, std::vector<const Statement*>> pieces;
    for (const auto& piece : base_.root().statements)
      pieces[key(*piece, base_)].push_back(piece.get());
    std::vector<Statement*> changed;
    for (const auto& piece : work_.root().statements) {
      auto& same = pieces[key(*piece, work_)];
      const auto equal = std::ranges::find_if(same, [&](const Statement* other) {
        return same_tokens(work_.source(), piece->range, base_.source(), other->range);
      });
      if (equal != same.end()) {
        same.erase(equal);
      } else {
        changed.push_back(piece.get());
      }
    }
    for (Statement* piece : changed) {
      auto& same = pieces[key(*piece, work_)];
      if (same.empty() || piece->piece->kind != PieceKind::function) {
        added_piece(*piece);
        continue;
      }
      compare_pieces(*piece, *same.front());
      same.erase(same.begin());
    }
  }

 private:
  static std::string key(const Statement& piece, const Tree& tree) {
    if (piece.piece->kind != PieceKind::function) return text_of(tree.source(), piece.range);
    return "function " + label_of(piece);
  }

  void other(std::size_t at, std::string what) {
    out_.others.push_back({work_.source().path, work_.source().line(at), std::move(what)});
  }
  std::string excerpt(Range range) const { return work_.source().excerpt(range); }

  void added_piece(const Statement& statement) {
    const sources::Piece& piece = *statement.piece;
    const auto& tokens = work_.tokens();
    const auto& brackets = work_.source().structure.brackets;
    Helper helper{
        .file = file_, .range = statement.range, .context = piece.context, .name = {}, .hunks = {}};
    bool fits = piece.owner.empty() && !piece.anywhere;
    if (piece.kind == PieceKind::directive) {
      fits = sources::directive_name(tokens, statement.range.begin) == "include";
    } else if (piece.names.empty()) {
      fits = false;
    } else {
      helper.name = std::string(piece.names.front());
    }
    for (std::size_t i = statement.range.begin; i < statement.range.end; ++i) {
      const bool brace = tokens[i].is("{") || tokens[i].is("}");
      if (brace && !statement.range.holds(brackets.partner[i])) fits = false;
    }
    if (fits) {
      out_.helpers.push_back(std::move(helper));
    } else {
      other(statement.range.begin, fmt::format("'{}' is new", excerpt(statement.range)));
    }
  }

  void compare_pieces(Statement& work, const Statement& base) {
    const Words base_words = sources::identifiers(base_.tokens(), base.range);
    looking_ =
        sources::only_looking(work_.tokens(), work_.source().structure, work.range, base_words);
    offset_ = work.range.begin;
    compare_statements(work, base);
  }

  bool is_looking(const Statement& statement) const {
    if (statement.directive) return false;
    for (std::size_t i = statement.range.begin; i < statement.range.end; ++i) {
      if (!looking_[i - offset_]) return false;
    }
    return true;
  }

  bool same_heads(const Statement& work, const Statement& base) const {
    return work.blocks.size() == base.blocks.size() &&
           std::ranges::equal(work.head, base.head, [&](std::size_t a, std::size_t b) {
             return sources::same(work_.tokens()[a], base_.tokens()[b]);
           });
  }

  /// Compares two versions of one statement.
  void compare_statements(Statement& work, const Statement& base) {
    if (!same_heads(work, base)) {
      std::string what = fmt::format("'{}' is another statement", excerpt(work.range));
      auto more = logged_names(work_.source(), work.range);
      for (const auto& name : logged_names(base_.source(), base.range)) more.erase(name);
      if (!more.empty()) {
        what = fmt::format(
            "\"{}\" is logged within a statement that changed, too: a log statement "
            "of its own would be carried",
            *more.begin());
      }
      other(work.range.begin, what);
    }
    if (work.blocks.size() != base.blocks.size()) return;
    for (std::size_t k = 0; k < work.blocks.size(); ++k) {
      compare_blocks(*work.blocks[k], *base.blocks[k]);
    }
  }

  void compare_blocks(Block& work, const Block& base) {
    if (same_tokens(work_.source(), work.inner, base_.source(), base.inner)) return;
    const BlockAlignment alignment(work, base, comparison_);
    std::vector<bool> candidate(work.statements.size(), false);
    for (std::size_t i = 0; i < work.statements.size(); ++i) {
      Statement& statement = *work.statements[i];
      const std::size_t j = alignment.partner(i);
      const Statement* partner = j == BlockAlignment::kNone ? nullptr : base.statements[j].get();
      const bool same =
          partner && same_tokens(work_.source(), statement.range, base_.source(), partner->range);
      // It may be logged for the first time: which conditions hold the compiler alone knows.
      const bool another_condition = same && is_looking(statement) &&
                                     conditions_at(work_.source(), statement.range.begin) !=
                                         conditions_at(base_.source(), partner->range.begin);
      if (same && !another_condition) continue;
      if (partner && !statement.blocks.empty() && same_heads(statement, *partner)) {
        compare_statements(statement, *partner);
      } else if (is_looking(statement)) {
        candidate[i] = another_condition || !logs_otherwise(statement, partner);
        if (!candidate[i]) {
          other(statement.range.begin,
                fmt::format("'{}' logs in another way what is recorded", excerpt(statement.range)));
        }
      } else if (partner) {
        compare_statements(statement, *partner);
      } else {
        other(statement.range.begin, fmt::format("'{}' is new", excerpt(statement.range)));
      }
    }
    take(work, candidate);
  }

  bool logs_otherwise(const Statement& statement, const Statement* partner) const {
    if (!partner) return false;
    const auto now = logged_names(work_.source(), statement.range);
    const auto was = logged_names(base_.source(), partner->range);
    return std::ranges::any_of(now, [&](const auto& name) { return was.contains(name); });
  }

  /// Makes hunks of the statements in `block` that are candidates, and removes them from the block.
  void take(Block& block, const std::vector<bool>& candidate) {
    std::vector<std::unique_ptr<Statement>> kept;
    for (std::size_t i = 0; i < candidate.size();) {
      if (!candidate[i]) {
        kept.push_back(std::move(block.statements[i++]));
        continue;
      }
      const std::size_t first = i;
      i = end_of_hunk(block, candidate, first);
      Addition addition;
      addition.file = file_;
      addition.range = {block.statements[first]->range.begin, block.statements[i - 1]->range.end};
      addition.block = &block;
      addition.index = kept.size();
      describe(addition);
      out_.hunks.push_back(std::move(addition));
    }
    block.statements = std::move(kept);
  }

  /// The end of the hunk that begins at `first`: it includes following statements that use names
  /// declared in it.
  std::size_t end_of_hunk(const Block& block, const std::vector<bool>& candidate,
                          std::size_t first) const {
    std::size_t end = first + 1;
    for (std::size_t i = first; i < end; ++i) {
      const auto names = declared_names(work_.source(), block.statements[i]->range);
      for (std::size_t j = i + 1; j < candidate.size() && candidate[j]; ++j) {
        const bool shares = std::ranges::any_of(names, [&](const std::string& name) {
          return uses(work_.source(), block.statements[j]->range, name);
        });
        if (shares) end = std::max(end, j + 1);
      }
    }
    return end;
  }

  void describe(Addition& addition) {
    const Source& source = work_.source();
    addition.hunk.path = source.path;
    addition.hunk.line = source.line(addition.range.begin);
    std::size_t begin = 0, end = 0;
    if (bytes_of(source, addition.range, begin, end)) {
      begin = with_comments_above(source.text, begin, base_.source().text);
      addition.hunk.text = source.text.substr(begin, end - begin);
    }
    addition.hunk.what = named(addition);
    const Statement* piece = piece_of(*addition.block);
    addition.hunk.function = piece ? label_of(*piece) : std::string();
    addition.hunk.loops = loops_around(*addition.block);
    addition.declares = declared_names(source, addition.range);
  }

  std::string named(const Addition& addition) const {
    const auto names = logged_names(work_.source(), addition.range);
    if (names.empty()) {
      const std::string shown = sources::what_is_shown(work_.tokens(), addition.range);
      return shown.empty() ? fmt::format("computes '{}'", excerpt(addition.range)) : shown;
    }
    std::string text = "logs ";
    for (const auto& name : names)
      text += fmt::format("{}\"{}\"", text == "logs " ? "" : ", ", name);
    return text;
  }

  std::size_t file_;
  Tree& work_;
  const Tree& base_;
  Additions& out_;
  Comparison comparison_;
  std::vector<bool> looking_;  // whether the token only reads values; of the tokens of a function,
                               // from offset_
  std::size_t offset_ = 0;
};

/// Numbers the hunks, and drops those that no log statement needs.
void finish(Additions& all) {
  std::vector<Addition>& hunks = all.hunks;
  std::ranges::stable_sort(hunks, [](const Addition& a, const Addition& b) {
    return std::pair(a.file, a.range.begin) < std::pair(b.file, b.range.begin);
  });
  const auto source = [&](const Addition& hunk) -> const Source& {
    return all.work[hunk.file].source();
  };
  const std::size_t count = hunks.size();
  std::vector<std::set<std::size_t>> needs(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j || hunks[i].file != hunks[j].file) continue;
      if (piece_of(*hunks[i].block) != piece_of(*hunks[j].block)) continue;
      const bool used = std::ranges::any_of(hunks[j].declares, [&](const std::string& name) {
        return !hunks[i].declares.contains(name) && uses(source(hunks[i]), hunks[i].range, name);
      });
      if (used) needs[i].insert(j);
    }
  }
  // Hunks that share variables stay together: one that logs needs those that compute its values.
  std::vector<std::size_t> group(count);
  std::iota(group.begin(), group.end(), 0u);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t j : needs[i]) {
        const std::size_t low = std::min(group[i], group[j]);
        more = more || group[i] != low || group[j] != low;
        group[i] = group[j] = low;
      }
    }
  }
  std::set<std::size_t> logging;
  for (std::size_t i = 0; i < count; ++i) {
    if (!logged_names(source(hunks[i]), hunks[i].range).empty()) logging.insert(group[i]);
  }
  std::vector<Addition> kept;
  std::map<std::size_t, std::set<int>> members;
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < count; ++i) {
    if (!logging.contains(group[i])) {
      all.others.push_back({hunks[i].hunk.path, hunks[i].hunk.line,
                            fmt::format("{}, and nothing is logged of it", hunks[i].hunk.what)});
      continue;
    }
    hunks[i].hunk.number = static_cast<int>(kept.size()) + 1;
    members[group[i]].insert(hunks[i].hunk.number);
    groups.push_back(group[i]);
    kept.push_back(std::move(hunks[i]));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i].hunk.needs = members[groups[i]];
    kept[i].hunk.needs.erase(kept[i].hunk.number);
  }
  hunks = std::move(kept);
}

void find_users(Additions& all) {
  std::vector<Helper>& helpers = all.helpers;
  for (Helper& helper : helpers) {
    for (const Addition& hunk : all.hunks) {
      const bool comes = helper.name.empty()
                             ? hunk.file == helper.file
                             : uses(all.work[hunk.file].source(), hunk.range, helper.name);
      if (comes) helper.hunks.insert(hunk.hunk.number);
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (const Helper& user : helpers) {
      for (Helper& used : helpers) {
        if (used.name.empty() || &user == &used) continue;
        if (!uses(all.work[user.file].source(), user.range, used.name)) continue;
        const std::size_t before = used.hunks.size();
        used.hunks.insert(user.hunks.begin(), user.hunks.end());
        more = more || used.hunks.size() > before;
      }
    }
  }
  std::erase_if(helpers, [&](const Helper& helper) {
    if (!helper.hunks.empty()) return false;
    const Source& source = all.work[helper.file].source();
    all.others.push_back({source.path, source.line(helper.range.begin),
                          fmt::format("'{}' is new", source.excerpt(helper.range))});
    return true;
  });
}

}  // namespace

std::set<std::string> logged_names(const Source& source, Range range) {
  static constexpr std::array<std::string_view, 5> kLogs = {"log", "log_tensor", "log_histogram",
                                                            "log_image", "log_table"};
  const auto& tokens = source.tokens.all;
  std::set<std::string> names;
  for (std::size_t i = range.begin; i + 2 < range.end; ++i) {
    if (std::ranges::find(kLogs, tokens[i].text) == kLogs.end() || !tokens[i + 1].is("(") ||
        tokens[i + 2].kind != TokenKind::text || tokens[i + 2].text.size() < 2) {
      continue;
    }
    const std::string_view literal = tokens[i + 2].text;
    names.insert(std::string(literal.substr(1, literal.size() - 2)));
  }
  return names;
}

std::set<std::string> declared_names(const Source& source, Range range) {
  const auto& tokens = source.tokens.all;
  static constexpr std::array<std::string_view, 9> kBehind = {"=", "{", "(", ";", ":",
                                                              ",", ")", "[", "]"};
  std::set<std::string> names;
  for (std::size_t i = range.begin + 1; i < range.end; ++i) {
    const Token &token = tokens[i], &before = tokens[i - 1];
    if (token.kind != TokenKind::identifier || sources::is_keyword(token.text)) continue;
    const bool ends =
        i + 1 < tokens.size() && std::ranges::find(kBehind, tokens[i + 1].text) != kBehind.end();
    if (!ends) continue;
    const bool after_word = before.kind == TokenKind::identifier &&
                            (!sources::is_keyword(before.text) || is_type_word(before));
    const bool after_mark = (before.is("&") || before.is("*") || before.is("&&")) &&
                            i > range.begin + 1 &&
                            (tokens[i - 2].is(">") || is_type_word(tokens[i - 2]) ||
                             (i > range.begin + 2 && is_type_word(tokens[i - 3])));
    if (after_word || after_mark || (before.is(">") && !tokens[i + 1].is("("))) {
      names.insert(std::string(token.text));
    }
  }
  // structured bindings: auto [a, b] = ...
  for (std::size_t i = range.begin; i + 2 < range.end; ++i) {
    if (!tokens[i].is("auto")) continue;
    std::size_t open = i + 1;
    while (open < range.end && (tokens[open].is("&") || tokens[open].is("&&"))) ++open;
    if (open >= range.end || !tokens[open].is("[")) continue;
    for (std::size_t k = open + 1; k < range.end && !tokens[k].is("]"); ++k) {
      if (tokens[k].kind == TokenKind::identifier) names.insert(std::string(tokens[k].text));
    }
  }
  return names;
}

bool bytes_of(const Source& source, Range range, std::size_t& begin, std::size_t& end) {
  if (range.empty()) return false;
  const auto inside = [&](const Token& token) {
    const char* text = source.text.data();
    return token.text.data() >= text &&
           token.text.data() + token.text.size() <= text + source.text.size();
  };
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (!inside(source.tokens.all[i])) return false;
  }
  const Token &first = source.tokens.all[range.begin], &last = source.tokens.all[range.end - 1];
  begin = static_cast<std::size_t>(first.text.data() - source.text.data());
  end = static_cast<std::size_t>(last.text.data() - source.text.data()) + last.text.size();
  return true;
}

Additions find_additions(const std::vector<FileText>& base, const std::vector<FileText>& work) {
  Additions all;
  all.work.reserve(work.size());
  for (const FileText& file : work) {
    all.work.emplace_back(std::make_shared<Source>(file.path, file.text));
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto recorded = std::ranges::find(base, work[i].path, &FileText::path);
    if (recorded == base.end()) {
      all.others.push_back({work[i].path, 1, "the file is new"});
      continue;
    }
    const Tree before(std::make_shared<Source>(recorded->path, recorded->text));
    FileComparison(i, all.work[i], before, all).run();
  }
  finish(all);
  find_users(all);
  return all;
}

}  // namespace flor::carry
