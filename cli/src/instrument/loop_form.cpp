#include "instrument/loop_form.h"

#include "sources/syntax/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace flor::instrument {
namespace {

/// The header of a `for` that counts.
struct Counting {
  Range type;
  std::size_t name = 0;
  Range first, last;
  std::string_view comparison;
  std::string step;  ///< "1", "-1", "k"
  bool down = false;
};

struct Parts {
  Range first, condition, step;
};

/// The three parts of (init; condition; step); nothing if the header has others.
std::optional<Parts> parts_of(const Reader& reader, Range header) {
  std::vector<std::size_t> ends;
  for (std::size_t k = header.begin + 1; k + 1 < header.end;) {
    if (reader.is_directive(k)) return std::nullopt;
    if (reader.is(k, ";")) ends.push_back(k);
    const bool open = reader.is(k, "(") || reader.is(k, "[") || reader.is(k, "{");
    k = open ? reader.behind(k) : k + 1;
  }
  if (ends.size() != 2) return std::nullopt;
  return Parts{{header.begin + 1, ends[0]}, {ends[0] + 1, ends[1]}, {ends[1] + 1, header.end - 1}};
}

std::size_t range_colon(const Reader& reader, Range header) {
  for (std::size_t k = header.begin + 1; k + 1 < header.end;) {
    if (reader.is(k, ":")) return k;
    if (reader.is(k, "?") || reader.is_directive(k)) break;
    const bool open = reader.is(k, "(") || reader.is(k, "[") || reader.is(k, "{");
    k = open ? reader.behind(k) : k + 1;
  }
  return header.end;
}

bool has_any(const Reader& reader, Range range, std::initializer_list<std::string_view> words) {
  for (std::size_t k = range.begin; k < range.end; ++k) {
    if (reader.is_directive(k)) return true;
    for (const std::string_view word : words) {
      if (reader.is(k, word)) return true;
    }
  }
  return false;
}

std::optional<Counting> counting(const Reader& reader, const Parts& parts) {
  Counting out;
  std::size_t name = parts.first.begin;
  while (name < parts.first.end && !reader.is(name, "=") && !reader.is(name, "{")) ++name;
  if (name >= parts.first.end || name == parts.first.begin) return std::nullopt;
  out.name = --name;
  out.type = {parts.first.begin, name};
  if (!reader.is_name(name) || out.type.empty()) return std::nullopt;
  const bool braces = reader.is(name + 1, "{");
  out.first = braces ? Range{name + 2, parts.first.end - 1} : Range{name + 2, parts.first.end};
  if (out.first.empty() || reader.next_comma(parts.first) < parts.first.end) return std::nullopt;

  const std::string_view variable = reader.text(name);
  if (parts.condition.end - parts.condition.begin < 3) return std::nullopt;
  static constexpr std::array<std::array<std::string_view, 2>, 5> kMirrored = {
      {{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"!=", "!="}}};
  const auto comparison = [](std::string_view word) -> std::string_view {
    for (const auto& [one, other] : kMirrored) {
      if (word == one) return other;
    }
    return {};
  };
  if (reader.is(parts.condition.begin, variable) &&
      !comparison(reader.text(parts.condition.begin + 1)).empty()) {
    out.comparison = reader.text(parts.condition.begin + 1);
    out.last = {parts.condition.begin + 2, parts.condition.end};
  } else if (reader.is(parts.condition.end - 1, variable) &&
             !comparison(reader.text(parts.condition.end - 2)).empty()) {
    out.comparison = comparison(reader.text(parts.condition.end - 2));
    out.last = {parts.condition.begin, parts.condition.end - 2};
  } else {
    return std::nullopt;
  }
  for (std::size_t k = out.last.begin; k < out.last.end;) {
    const std::size_t angles = reader.behind_angles(k);  // of static_cast<int>(n)
    const bool compares = has_any(
        reader, {k, k + 1}, {"&&", "||", "?", ",", "<", ">", "<=", ">=", "==", "!=", variable});
    if (angles <= k && compares) return std::nullopt;
    k = reader.is(k, "(") ? reader.behind(k) : std::max(angles, k + 1);
  }
  const Range step = parts.step;
  const std::size_t length = step.end - step.begin;
  if (length == 2) {
    const bool first = reader.is(step.begin, variable);
    const std::string_view mark = reader.text(first ? step.begin + 1 : step.begin);
    if (!first && !reader.is(step.begin + 1, variable)) return std::nullopt;
    if (mark != "++" && mark != "--") return std::nullopt;
    out.down = mark == "--";
    out.step = out.down ? "-1" : "1";
  } else if (length == 3 && reader.is(step.begin, variable) &&
             (reader.is(step.begin + 1, "+=") || reader.is(step.begin + 1, "-="))) {
    out.down = reader.is(step.begin + 1, "-=");
    out.step = (out.down ? "-" : "") + std::string(reader.text(step.begin + 2));
  } else {
    return std::nullopt;
  }
  const bool upwards = out.comparison == "<" || out.comparison == "<=";
  if (out.comparison == "!=" ? out.step != "1" && out.step != "-1" : upwards == out.down) {
    return std::nullopt;
  }
  return out;
}

bool is_fraction(const Program& program, const StateTypes& types, int body, Range range) {
  const Reader& reader = *program.body(body).reader;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    const std::string_view word = reader.text(k);
    if (word == "double" || word == "float" || word == "ceil" || word == "floor") return true;
    if (reader.is_literal(k)) {
      const bool hex = word.starts_with("0x") || word.starts_with("0X");
      if (!hex && word.find_first_of(".eE'\"") != word.npos && word.find('\'') == word.npos)
        return true;
      continue;
    }
    const bool member = k > 0 && (reader.is(k - 1, ".") || reader.is(k - 1, "->"));
    if (!reader.is_name(k) || reader.is(k + 1, "(") || reader.is(k + 1, "<") || member) continue;
    if (reader.is(k + 1, ".") || reader.is(k + 1, "->") || reader.is(k + 1, "::")) continue;
    const int id = program.model().resolve(body, word, k);
    const std::string name = id >= 0 ? types.of(id).name : std::string();
    if (name == "double" || name == "float") return true;
  }
  return false;
}

bool is_integer_type(const Reader& reader, Range type) {
  bool integer = false;
  for (std::size_t k = type.begin; k < type.end; ++k) {
    const std::string_view word = reader.text(k);
    if (word == "float" || word == "double" || word == "bool" || word == "*" || word == "&")
      return false;
    integer = integer || sources::is_number_type(word);
  }
  return integer;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// `value` plus or minus one.
std::string next_to(std::string value, bool plus) { return value + (plus ? " + 1" : " - 1"); }

/// The option flor::with, on a line of its own if `length` characters before it leave no room.
std::string with(const std::vector<std::string>& attached, std::size_t length,
                 const TextEdits& edits, std::size_t token) {
  if (attached.empty()) return "";
  const std::string option = fmt::format("flor::with({})", fmt::join(attached, ", "));
  const std::string indent = edits.indentation(token);
  const bool fits = indent.size() + length + option.size() + 6 <= edits.width();  // ", " and ")) {"
  return "," + (fits ? " " : edits.continued(indent)) + option;
}

}  // namespace

std::string_view loop_variable(const Program& program, Loop loop) {
  const Step& step = program.step(loop);
  const Reader& reader = *program.body(loop.body).reader;
  if (!reader.is(step.whole.begin, "for")) return {};
  for (std::size_t k = step.range.begin + 1; k < step.range.end; ++k) {
    if (reader.is(k, "=") || reader.is(k, ":") || reader.is(k, "{")) {
      return reader.is_name(k - 1) ? reader.text(k - 1) : std::string_view();
    }
    if (reader.is(k, ";")) break;
  }
  return {};
}

LoopForm loop_form(const Program& program, const Carried& carried, const StateTypes& types,
                   const TextEdits& edits, Loop loop, std::string_view name,
                   const std::vector<std::string>& attached, std::string_view fresh) {
  LoopForm form;
  const Step& step = program.step(loop);
  const Reader& reader = *program.body(loop.body).reader;
  const Range whole = step.whole;
  form.range = step.range;
  if (reader.is(whole.begin, "do")) {
    form.obstacle = "its condition stands at its end";
    return form;
  }
  const Range header{whole.begin, step.range.end};
  if (!edits.is_literal(header) || has_any(reader, header, {})) {
    form.obstacle = "its header has lines for the preprocessor";
    return form;
  }
  const bool is_for = reader.is(whole.begin, "for");
  if (const std::size_t colon = range_colon(reader, step.range); is_for && colon < step.range.end) {
    form.range = {colon + 1, step.range.end - 1};
    form.before = fmt::format("flor::loop(\"{}\", ", name);
    const std::size_t length = edits.text_of(header).size() + form.before.size();
    form.after = with(attached, length, edits, whole.begin) + ")";
    return form;
  }
  std::optional<Parts> parts;
  if (is_for) parts = parts_of(reader, step.range);
  Range condition{step.range.begin + 1, step.range.end - 1};
  const bool endless = parts && parts->first.empty() && parts->step.empty();
  if (endless) condition = parts->condition;
  if (is_for && !endless) {
    const auto count = parts ? counting(reader, *parts) : std::nullopt;
    if (!count) {
      form.obstacle = "it does not count evenly to a limit";
      return form;
    }
    const bool deduced =
        count->type.end == count->type.begin + 1 && reader.is(count->type.begin, "auto");
    const bool plain_zero =
        count->first.end == count->first.begin + 1 && is_digits(reader.text(count->first.begin));
    if (!is_integer_type(reader, count->type) && !(deduced && plain_zero)) {
      form.obstacle = "it counts with something else than an integer";
      return form;
    }
    const int variable =
        program.model().declared_at(loop.body, reader.text(count->name), count->name);
    if (variable < 0 || carried.assigns(loop, variable)) {
      form.obstacle = fmt::format("its body changes '{}'", reader.text(count->name));
      return form;
    }
    if (is_fraction(program, types, loop.body, count->last)) {
      form.obstacle = fmt::format("its limit '{}' is no integer", edits.text_of(count->last));
      return form;
    }
    if (!carried.is_invariant(loop, count->last)) {
      form.obstacle =
          fmt::format("its limit '{}' may change meanwhile", edits.text_of(count->last));
      return form;
    }
    const std::string first = edits.text_of(count->first);
    std::string last = edits.text_of(count->last);
    if (count->comparison == "<=" || count->comparison == ">=") {
      last = next_to(std::move(last), !count->down);
    }
    const std::string range = first == "0" && count->step == "1"
                                  ? last
                                  : fmt::format("flor::range({}, {}{})", first, last,
                                                count->step == "1" ? "" : ", " + count->step);
    const bool used = program.mentions(loop.body, {step.range.end, whole.end}, variable);
    const std::string type = deduced ? "int" : edits.text_of(count->type);
    form.header = fmt::format("for ({}{} {} : flor::loop(\"{}\", {}",
                              used || type.starts_with("[[") ? "" : "[[maybe_unused]] ", type,
                              reader.text(count->name), name, range);
    form.header += with(attached, form.header.size(), edits, whole.begin) + "))";
    form.whole = header;
    return form;
  }
  const std::string text = edits.text_of(condition);
  const bool always = condition.empty() || text == "true" || text == "1";
  for (std::size_t k = condition.begin; k < condition.end; ++k) {
    if (program.model().declared_at(loop.body, reader.text(k), k) >= 0) {
      form.obstacle = "its condition declares a variable";
      return form;
    }
  }
  if (!always && !reader.is(step.range.end, "{")) {
    form.obstacle = "it has no braces";
    return form;
  }
  form.counts = true;
  form.whole = header;
  form.header = fmt::format("for ([[maybe_unused]] int {} : flor::loop(\"{}\", std::views::iota(0)",
                            fresh, name);
  form.header += with(attached, form.header.size(), edits, whole.begin) + "))";
  if (!always) form.condition = fmt::format("if (!({})) break;", text);
  form.first = step.range.end + 1;
  return form;
}

void write(const LoopForm& form, TextEdits& edits, const Reader& reader) {
  if (!form.header.empty()) {
    edits.replace(form.whole, form.header);
    if (form.condition.empty()) return;
    const bool own_line = reader.source().line(form.first) != reader.source().line(form.first - 1);
    const bool ends = reader.is(form.first, "}");
    const std::string indent = own_line && !ends
                                   ? edits.indentation(form.first)
                                   : edits.indentation(form.first - 1) + edits.indentation_unit();
    edits.line_in_gap(form.first, indent, form.condition);
    return;
  }
  edits.insert_before(form.range.begin, form.before);
  edits.insert_after(form.range.end - 1, form.after);
}

}  // namespace flor::instrument
