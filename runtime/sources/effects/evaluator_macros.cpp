// Evaluates macros: their text is examined where they are used.
#include "sources/effects/effect_evaluator.h"
#include "sources/syntax/logging.h"
#include "sources/syntax/words.h"

#include <algorithm>

namespace flor::sources {

/// Whether a macro's text calls a function, or names a variable, that these sources do not have.
bool Evaluator::may_leave(const std::vector<Token>& tokens, std::size_t k) const {
  const std::string_view word = tokens[k].text;
  const bool called = k + 1 < tokens.size() && tokens[k + 1].is("(");
  if (tokens[k - 1].is("::")) {
    std::size_t first = k;
    while (first >= 2 && tokens[first - 1].is("::")) first -= 2;
    if (model_.is_scope(tokens[k - 2].text)) return false;
    return !is_library_namespace(tokens[first].text) && !is_stateless_namespace(tokens[first].text);
  }
  if (!called || tokens[k - 1].is(".") || tokens[k - 1].is("->")) return false;
  return model_.functions(word).empty() && !model_.is_class(word) && !model_.macro(word) &&
         !function_purity(word).pure && !is_print(word) && !is_keyword(word);
}

/// Adds all variables whose name may be the result of pasting, as in x##_count.
void Evaluator::add_pasted(Range macro, const std::vector<Token>& tokens, std::size_t at,
                           Value& value) {
  const auto given = [&](std::string_view word) {  // a parameter of the macro
    for (std::size_t k = macro.begin + 2; k < macro.end && !tokens[k].is(")"); ++k) {
      if (tokens[macro.begin + 3].is("(") && tokens[k].is(word)) return true;
    }
    return false;
  };
  const std::string_view left = tokens[at - 1].text, right = tokens[at + 1].text;
  for (int id = 0; id < static_cast<int>(model_.variables().size()); ++id) {
    const Variable& variable = model_.variable(id);
    if (variable.body >= 0 && variable.body != body_) continue;
    if ((given(left) || variable.name.starts_with(left)) &&
        (given(right) || variable.name.ends_with(right))) {
      value.keys.add(id, Extent::whole);
    }
  }
}

/// Evaluates a use of a macro, which may do anything to the variables that it mentions.
Evaluator::Value Evaluator::expand(std::string_view macro, std::size_t at,
                                   std::set<std::string_view>& seen) {
  Value value;
  if (!seen.insert(macro).second) return value;  // its effects are known by now
  const Inner& inner = *model_.macro(macro);
  const auto& tokens = model_.source_of_macro(macro)->tokens.all;
  for (std::size_t k = inner.range.begin + 3; k < inner.range.end; ++k) {
    const std::string_view word = tokens[k].text;
    if (tokens[k].is("##")) add_pasted(inner.range, tokens, k, value);
    if (tokens[k].kind != TokenKind::identifier || is_keyword(word) || word == macro) continue;
    if (may_leave(tokens, k)) {
      leave_sources();
      value.keys.add(model_.outside(), Extent::whole);
    }
    if (k > 0 && (tokens[k - 1].is(".") || tokens[k - 1].is("->"))) {
      if (model_.is_field(word)) value.keys.add(model_.shared(word), Extent::whole);
    } else if (model_.macro(word)) {
      value.keys.add(expand(word, at, seen).keys);
    } else if (const int id = model_.resolve(body_, word, at); id >= 0) {
      value.keys.add(id, Extent::whole);
    }
    for (const int id : model_.functions(word)) {
      out_.handed_on.insert(id);
      out_.reads.add(summary_of(id).shared_reads);
      out_.writes.add(summary_of(id).shared_writes);
    }
  }
  bool constant = true;
  for (const auto& [variable, extent] : value.keys) {
    constant = constant && model_.variable(variable).type.constant;
  }
  if (!constant) mutate(value);
  read(value);
  return value;
}

}  // namespace flor::sources
