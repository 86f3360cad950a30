#include "sources/changes.h"

#include "sources/syntax/difference.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace flor::sources {
namespace {

struct Part {
  const Source* source;
  const Piece* piece;
};

std::string text_key(const Part& part) {
  std::string key = fmt::format("{}\x1e{}\x1e", part.piece->context, part.piece->conditions);
  for (std::size_t i = part.piece->range.begin; i < part.piece->range.end; ++i) {
    key += part.source->tokens.all[i].text;
    key += '\x1f';
  }
  return key;
}

std::string identity(const Part& part) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(part.piece->kind)));
  key += part.piece->context + '\x1e';
  // A declaration is identified by its first name; it may declare others after that.
  const bool declaration = part.piece->kind == PieceKind::declaration;
  for (const std::string_view name : part.piece->names) {
    key += name;
    key += '\x1f';
    if (declaration) break;
  }
  key += part.piece->owner;
  if (part.piece->kind == PieceKind::directive) {
    key += directive_name(part.source->tokens.all, part.piece->range.begin);
  }
  return key;
}

using Parts = std::vector<Part>;

Parts parts_of(const std::vector<SourcePointer>& sources) {
  Parts parts;
  for (const SourcePointer& source : sources) {
    for (const Piece& piece : source->structure.pieces) parts.push_back({source.get(), &piece});
  }
  return parts;
}

/// Removes pieces that both versions have equally often, wherever they are.
void drop_equal(Parts& before, Parts& now) {
  std::map<std::string, int> excess;
  std::vector<std::string> old_keys, new_keys;
  for (const Part& part : before) --excess[old_keys.emplace_back(text_key(part))];
  for (const Part& part : now) ++excess[new_keys.emplace_back(text_key(part))];
  const auto drop = [&](Parts& parts, const std::vector<std::string>& keys) {
    Parts kept;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (excess[keys[i]] != 0) kept.push_back(parts[i]);
    }
    parts = std::move(kept);
  };
  drop(before, old_keys);
  drop(now, new_keys);
}

class Finder {
 public:
  Finder(const std::vector<SourcePointer>& before, const std::vector<SourcePointer>& now,
         const std::vector<SourcePointer>& rest)
      : before_(parts_of(before)), now_(parts_of(now)), new_sources_(now) {
    for (const auto* sources : {&before, &now, &rest}) {
      for (const SourcePointer& source : *sources) add_macros_of(*source, macros_);
    }
  }

  Changes run() {
    drop_equal(before_, now_);
    pair(true);
    pair(false);
    for (const Part& part : now_) added(part);
    for (const Part& part : before_) removed(part);
    const auto order = [](const Change& a, const Change& b) {
      if (!a.source || !b.source || a.source != b.source) {
        return (a.source ? a.source->path : a.where) < (b.source ? b.source->path : b.where);
      }
      return a.now.begin < b.now.begin;
    };
    std::ranges::stable_sort(out_.all, order);
    std::ranges::stable_sort(out_.computation, order);
    return std::move(out_);
  }

 private:
  /// Pairs pieces with the same name and compares them: pieces of the same file first.
  void pair(bool same_file) {
    std::multimap<std::string, std::size_t> old;
    const auto key = [&](const Part& part) {
      return same_file ? fmt::format("{}\x1d{}", identity(part), part.source->path)
                       : identity(part);
    };
    for (std::size_t i = 0; i < before_.size(); ++i) old.emplace(key(before_[i]), i);
    std::set<std::size_t> done_old, done_new;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const auto found = old.find(key(now_[i]));
      if (found == old.end()) continue;
      compare(before_[found->second], now_[i]);
      done_old.insert(found->second);
      done_new.insert(i);
      old.erase(found);
    }
    const auto drop = [](Parts& parts, const std::set<std::size_t>& done) {
      Parts kept;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!done.contains(i)) kept.push_back(parts[i]);
      }
      parts = std::move(kept);
    };
    drop(before_, done_old);
    drop(now_, done_new);
  }

  Spelling spelled(const Part& part, const std::vector<bool>* without = nullptr) const {
    return spell({part.source, part.piece->range}, macros_, without);
  }

  void compare(const Part& before, const Part& now) {
    if (before.piece->conditions != now.piece->conditions) {
      // Equal text under a different #if counts as changed.
      Change change = describe(now, now.piece->range);
      change.what = "is compiled under other conditions";
      note(before, now, change, true);
      return;
    }
    for (const Difference& other : differences(before, now, spelled(before), spelled(now))) {
      note(before, now, describe(before, now, widened(other, before, now)), false);
    }
    if (is_neutral(before) && is_neutral(now)) return;
    const std::vector<bool> old_looks = looks(before, now), new_looks = looks(now, before);
    const auto computing = [&](const std::vector<bool>& old_mask,
                               const std::vector<bool>& new_mask) {
      return differences(before, now, spelled(before, &old_mask), spelled(now, &new_mask));
    };
    const std::vector<Difference> found = computing(old_looks, new_looks);
    if (found.empty()) return;
    // Text that only one version has may use names of its own locals that the other version uses
    // elsewhere. This is not done for text that both versions have, since edited text would be left
    // out of both.
    std::vector<Range> old_more, new_more;
    for (const Difference& other : found) {
      old_more.push_back(other.before);
      new_more.push_back(other.now);
    }
    if (computing(old_looks, with_locals(now, before, new_looks, new_more)).empty() ||
        computing(with_locals(before, now, old_looks, old_more), new_looks).empty()) {
      return;
    }
    for (const Difference& other : found) note(before, now, describe(before, now, other), true);
  }

  static std::vector<bool> looks(const Part& part, const Part& other, Own own = Own::new_names) {
    return only_looking(part.source->tokens.all, part.source->structure, part.piece->range,
                        identifiers(other.source->tokens.all, other.piece->range), own);
  }
  /// `mask`, extended within the ranges `more` by statements with locals of their own.
  static std::vector<bool> with_locals(const Part& part, const Part& other, std::vector<bool> mask,
                                       const std::vector<Range>& more) {
    const std::vector<bool> wide = looks(part, other, Own::block_locals);
    const std::size_t begin = part.piece->range.begin;
    for (const Range& range : more) {
      for (std::size_t i = range.begin; i < range.end; ++i) {
        if (wide[i - begin]) mask[i - begin] = true;
      }
    }
    return mask;
  }

  /// Ranges of tokens in the files. If one is empty, something was removed from or added to the
  /// other.
  struct Difference {
    Range before, now;
  };
  static std::vector<Difference> differences(const Part& before, const Part& now,
                                             const Spelling& old_tokens,
                                             const Spelling& new_tokens) {
    std::vector<Difference> all;
    for (const Hunk& hunk : difference(old_tokens.tokens, new_tokens.tokens)) {
      all.push_back({old_tokens.in_file(hunk.before, before.piece->range),
                     new_tokens.in_file(hunk.now, now.piece->range)});
    }
    return all;
  }

  /// Widens a change in an #if line to everything that the #if contains.
  static Difference widened(Difference other, const Part& before, const Part& now) {
    const auto region = [](const Part& part, Range range) -> Range {
      Range wide = range;
      for (const Conditional& c : part.source->structure.brackets.conditionals) {
        const Range lines{c.branches.front(), c.end};
        if (lines.begin < part.piece->range.begin || lines.end > part.piece->range.end) continue;
        const bool touched =
            std::ranges::any_of(c.branches,
                                [&](std::size_t at) {
                                  const std::size_t end =
                                      directive_end(part.source->tokens.all, at);
                                  return range.begin < end && at < range.end;
                                }) ||
            (range.begin < lines.end && lines.end <= range.end);
        if (touched) {
          wide.begin = std::min(wide.begin, lines.begin);
          wide.end = std::max(wide.end, lines.end);
        }
      }
      return wide;
    };
    const Range old_wide = region(before, other.before), new_wide = region(now, other.now);
    // The lines around removed lines: as many tokens before and after them in the new version.
    const std::size_t lead = other.before.begin - old_wide.begin;
    const std::size_t trail = old_wide.end - other.before.end;
    const Range whole = now.piece->range;
    const std::size_t first = other.now.begin - std::min(lead, other.now.begin - whole.begin);
    const std::size_t last = std::min(std::max(new_wide.end, other.now.end + trail), whole.end);
    return {old_wide, {std::min(new_wide.begin, first), last}};
  }

  static Change describe(const Part& now, Range range) {
    Change change{.source = now.source,
                  .now = range,
                  .where = {},
                  .what = {},
                  .label = {},
                  .names = {},
                  .owner = {}};
    change.where = fmt::format("{}:{}", now.source->path, now.source->line(range.begin));
    change.label = now.piece->label();
    return change;
  }

  static Change describe(const Part& before, const Part& now, const Difference& other) {
    Change change = describe(now, other.now);
    change.what = what_is_shown(now.source->tokens.all, change.now);
    if (!change.what.empty()) return change;
    const std::string was = before.source->excerpt(other.before),
                      is = now.source->excerpt(other.now);
    change.what = other.now.empty()      ? fmt::format("'{}' is gone", was)
                  : other.before.empty() ? fmt::format("'{}' is new", is)
                                         : fmt::format("'{}' is now '{}'", was, is);
    return change;
  }

  void note(const Part& before, const Part& now, Change change, bool computation) {
    change.names = now.piece->names;
    change.names.insert(change.names.end(), before.piece->names.begin(), before.piece->names.end());
    finish(now, change);
    change.anywhere = change.anywhere || before.piece->anywhere;
    change.entry = change.entry && before.piece->entry;
    if (computation) {
      out_.computation.push_back(change);
      // If a piece moved under another condition, all of it counts as changed.
      if (before.piece->conditions != now.piece->conditions) out_.all.push_back(change);
    } else {
      out_.all.push_back(std::move(change));
    }
  }
  static void finish(const Part& part, Change& change) {
    change.owner = part.piece->owner;
    change.function = part.piece->kind == PieceKind::function;
    change.anywhere = part.piece->anywhere;
    change.entry = part.piece->entry;
  }

  /// Reports a new piece. Only code that is also new can call it, unless other pieces have the same
  /// name, or it can be called without being named.
  void added(const Part& part) {
    Change change = describe(part, part.piece->range);
    change.names = part.piece->names;
    change.added = true;
    finish(part, change);
    change.what = what_is_shown(part.source->tokens.all, change.now);
    if (change.what.empty())
      change.what = fmt::format("'{}' is new", part.source->excerpt(change.now));
    const bool prints = part.piece->anywhere && takes_stream(part);
    if (prints) change.anywhere = false;
    if (change.anywhere || is_pragma(part)) out_.computation.push_back(change);
    if (!change.names.empty() || change.anywhere) out_.all.push_back(std::move(change));
  }

  void removed(const Part& part) {
    Change change{.source = nullptr,
                  .now = {},
                  .where = part.source->path,
                  .what = {},
                  .label = part.piece->label(),
                  .names = part.piece->names,
                  .owner = {}};
    finish(part, change);
    for (const SourcePointer& source : new_sources_) {
      if (source->path != part.source->path) continue;
      change.source = source.get();
      change.now = {0, 0};
    }
    change.what = fmt::format("'{}' is gone", part.source->excerpt(part.piece->range));
    const bool prints = part.piece->anywhere && takes_stream(part);
    if (prints) change.anywhere = false;
    if (!is_neutral(part) && !prints) out_.computation.push_back(change);
    if (!change.names.empty() || change.anywhere) out_.all.push_back(std::move(change));
  }

  /// Whether the piece is an operator that prints to a stream.
  static bool takes_stream(const Part& part) {
    const auto& tokens = part.source->tokens.all;
    for (std::size_t i = part.piece->range.begin; i < part.piece->range.end; ++i) {
      if (tokens[i].is("{")) return false;
      if (tokens[i].is("ostream")) return true;
    }
    return false;
  }
  static bool is_pragma(const Part& part) {
    return part.piece->kind == PieceKind::directive &&
           directive_name(part.source->tokens.all, part.piece->range.begin) == "pragma" &&
           !(part.piece->range.end == part.piece->range.begin + 3 &&
             part.source->tokens.all[part.piece->range.begin + 2].is("once"));
  }
  /// Whether a directive has no meaning of its own: the text that it contains or includes is
  /// compared anyway.
  static bool is_neutral(const Part& part) {
    if (part.piece->kind == PieceKind::directive) {
      return !is_pragma(part) && (!defines(part) || is_guard(part));
    }
    const auto& tokens = part.source->tokens.all;
    const Range range = part.piece->range;
    return tokens[range.begin].is("}") && range.end <= range.begin + 2;
  }
  static bool is_guard(const Part& part) {
    const auto& tokens = part.source->tokens.all;
    const std::size_t begin = part.piece->range.begin;
    return begin == 3 && tokens[0].starts_directive && tokens[1].is("ifndef") &&
           tokens[2].text == part.piece->names.front();
  }
  static bool defines(const Part& part) { return !part.piece->names.empty(); }

  Parts before_, now_;
  const std::vector<SourcePointer>& new_sources_;
  Words macros_;
  Changes out_;
};

}  // namespace

std::string Source::excerpt(Range range, std::size_t length) const {
  std::string out;
  for (std::size_t i = range.begin; i < range.end && i < tokens.all.size(); ++i) {
    const Token& token = tokens.all[i];
    if (i > range.begin) {
      const Token& last = tokens.all[i - 1];
      const bool apart = last.text.data() + last.text.size() != token.text.data();
      if (apart) out += ' ';
    }
    out += token.text;
    if (out.size() > length) break;
  }
  std::ranges::replace(out, '\n', ' ');
  if (out.size() > length) {
    out.resize(length);
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
    out += "...";
  }
  return out;
}

Changes find_changes(const std::vector<SourcePointer>& before,
                     const std::vector<SourcePointer>& now,
                     const std::vector<SourcePointer>& rest) {
  return Finder(before, now, rest).run();
}

}  // namespace flor::sources
