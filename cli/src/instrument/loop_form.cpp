#include "instrument/loop_form.h"

#include "instrument/counted.h"

#include <fmt/format.h>

#include <optional>

namespace flor::instrument {
namespace {

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
    const CountedRange count = counted_range(program, carried, types, edits, loop);
    if (!count.obstacle.empty()) {
      form.obstacle = count.obstacle;
      return form;
    }
    const bool used = program.mentions(loop.body, {step.range.end, whole.end}, count.variable);
    const std::string& type = count.type;
    form.header = fmt::format("for ({}{} {} : flor::loop(\"{}\", {}",
                              used || type.starts_with("[[") ? "" : "[[maybe_unused]] ", type,
                              reader.text(count.name), name, count.range);
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
  form.whole = header;
  form.header = fmt::format("for ([[maybe_unused]] auto {} : flor::loop(\"{}\", flor::endless()",
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
