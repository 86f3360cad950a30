#include "instrument/counted.h"

#include "instrument/fixed.h"
#include "sources/syntax/libraries.h"
#include "sources/syntax/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace flor::instrument {

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

namespace {

using sources::one_of;

/// Facts known about the values of an integer expression.
enum class Sign {
  unknown,
  positive,  ///< a constant of any type that is not negative
  with,      ///< a signed type
  without,   ///< an unsigned type
};

/// The words of an integer type, without those of the libraries around it.
struct IntegerType {
  bool unsigned_ = false;
  int bits = 0;  ///< 0: no integer; int counts as 32, long and size_t as 64
};

IntegerType integer_type(const Reader& reader, Range range) {
  IntegerType type;
  bool narrow = false, wide = false, any = false;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    const std::string_view word = reader.text(k);
    if (word == "std" || word == "::" || word == "const" || word == "constexpr" || word == "[" ||
        word == "]" || word == "maybe_unused") {
      continue;
    }
    if (!sources::is_number_type(word) || word == "bool" || word == "byte" || word == "float" ||
        word == "double") {
      return {};
    }
    any = true;
    type.unsigned_ =
        type.unsigned_ || word == "unsigned" || word == "size_t" || word.starts_with("uint");
    narrow = narrow || word == "char" || word == "short" || word.ends_with("int8_t") ||
             word.ends_with("int16_t");
    wide = wide || word == "long" || word.ends_with("int64_t") || word == "size_t" ||
           word == "ssize_t" || word == "ptrdiff_t";
  }
  if (any) type.bits = narrow ? 8 : wide ? 64 : 32;
  return type;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// The value of a decimal literal that fits every type but the narrow ones; -1: it is none.
int small_value(std::string_view text) {
  while (text.ends_with('u') || text.ends_with('U') || text.ends_with('l') || text.ends_with('L') ||
         text.ends_with('z') || text.ends_with('Z')) {
    text.remove_suffix(1);
  }
  if (!is_digits(text) || text.size() > 9 || (text.size() > 1 && text[0] == '0')) return -1;
  int value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

bool has_unsigned_suffix(std::string_view text) { return text.find_first_of("uU") != text.npos; }

/// The header of a `for` that counts.
struct Counting {
  Range type;
  std::size_t name = 0;
  Range first, last, step;  ///< an empty step: 1
  std::string_view comparison;
  bool down = false;
};

std::string_view mirrored(std::string_view word) {
  static constexpr std::array<std::array<std::string_view, 2>, 5> kMirrored = {
      {{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}, {"!=", "!="}}};
  for (const auto& [one, other] : kMirrored) {
    if (word == one) return other;
  }
  return {};
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
  const Range condition = parts.condition;
  if (condition.end - condition.begin < 3) return std::nullopt;
  if (reader.is(condition.begin, variable) && !mirrored(reader.text(condition.begin + 1)).empty()) {
    out.comparison = reader.text(condition.begin + 1);
    out.last = {condition.begin + 2, condition.end};
  } else if (reader.is(condition.end - 1, variable) &&
             !mirrored(reader.text(condition.end - 2)).empty()) {
    out.comparison = mirrored(reader.text(condition.end - 2));
    out.last = {condition.begin, condition.end - 2};
  } else {
    return std::nullopt;
  }
  const Range step = parts.step;
  const std::size_t length = step.end - step.begin;
  if (length == 2) {
    const bool first = reader.is(step.begin, variable);
    const std::string_view mark = reader.text(first ? step.begin + 1 : step.begin);
    if (!first && !reader.is(step.begin + 1, variable)) return std::nullopt;
    if (mark != "++" && mark != "--") return std::nullopt;
    out.down = mark == "--";
  } else if (length == 3 && reader.is(step.begin, variable) &&
             (reader.is(step.begin + 1, "+=") || reader.is(step.begin + 1, "-="))) {
    out.down = reader.is(step.begin + 1, "-=");
    out.step = {step.begin + 2, step.end};
    if (small_value(reader.text(out.step.begin)) == 1) out.step = {};
  } else {
    return std::nullopt;
  }
  const bool upwards = out.comparison == "<" || out.comparison == "<=";
  if (out.comparison == "!=" ? !out.step.empty() : upwards == out.down) return std::nullopt;
  return out;
}

class Counted {
 public:
  Counted(const Program& program, const Carried& carried, const StateTypes& types,
          const TextEdits& edits, Loop loop)
      : program_(program),
        types_(types),
        edits_(edits),
        loop_(loop),
        reader_(*program.body(loop.body).reader),
        fixed_(program, types, carried, loop) {}

  CountedRange run() {
    const auto parts = parts_of(reader_, program_.step(loop_).range);
    const auto count = parts ? counting(reader_, *parts) : std::nullopt;
    CountedRange out;
    out.obstacle = "it does not count evenly to a limit";
    if (!count) return out;
    count_ = *count;
    out.obstacle = obstacle();
    if (!out.obstacle.empty()) return out;
    out.name = count_.name;
    out.variable = variable_;
    out.type = type_;
    out.range = range();
    return out;
  }

 private:
  std::string text(Range range) const { return edits_.text_of(range); }
  std::string_view counter() const { return reader_.text(count_.name); }

  std::string obstacle() {
    const bool deduced = count_.type.end == count_.type.begin + 1 &&
                         reader_.is(count_.type.begin, "auto") && literal(count_.first) >= 0 &&
                         is_digits(reader_.text(count_.first.begin));
    integer_ = deduced ? IntegerType{false, 32} : integer_type(reader_, count_.type);
    type_ = deduced ? "int" : text(count_.type);
    if (integer_.bits == 0) return "it counts with something else than an integer";
    variable_ = program_.model().declared_at(loop_.body, counter(), count_.name);
    if (!is_arithmetic(count_.last)) return "it does not count evenly to a limit";
    if (variable_ < 0 || fixed_.is_counter_changed(variable_)) {
      return fmt::format("its body changes '{}'", counter());
    }
    if (is_fraction(count_.last)) {
      return fmt::format("its limit '{}' is no integer", text(count_.last));
    }
    if (!is_limit_macro(count_.last) || !fixed_.is_fixed(count_.last)) {
      return fmt::format("its limit '{}' may change meanwhile", text(count_.last));
    }
    if (std::string why = obstacle_of_step(); !why.empty()) return why;
    return obstacle_of_values();
  }

  /// Whether the expression has no operator that binds as loosely as a comparison, or changes
  /// something: what stands around it later may be any operator of arithmetic.
  bool is_arithmetic(Range range) const {
    static constexpr std::array<std::string_view, 14> kRefused = {
        "new", "delete", "throw", "co_await", "co_yield", "and",    "or",
        "not", "xor",    "compl", "bitand",   "bitor",    "not_eq", "xor_eq"};
    static constexpr std::array<std::string_view, 10> kMarks = {"+", "-",  "*", "/",  "%",
                                                                "~", "::", ".", "->", "<<"};
    if (range.empty() || variable_ < 0 || program_.mentions(loop_.body, range, variable_)) {
      return false;
    }
    for (std::size_t k = range.begin; k < range.end; ++k) {  // also in brackets
      if (reader_.is_directive(k) || one_of(reader_.text(k), kRefused)) return false;
      if (reader_.is_assignment(k) || reader_.is(k, "++") || reader_.is(k, "--")) return false;
      const bool unary = !reader_.operand_ends_before(k) || k == range.begin;
      if (unary && (reader_.is(k, "*") || reader_.is(k, "&") || reader_.is(k, "["))) return false;
    }
    for (std::size_t k = range.begin; k < range.end;) {
      const std::size_t angles = reader_.behind_angles(k);  // of static_cast<int>(n)
      if (angles > k) {
        k = angles;
      } else if (reader_.is(k, "(") || reader_.is(k, "[") || reader_.is(k, "{")) {
        k = reader_.behind(k);
      } else if (reader_.is(k, ">") && k + 1 < range.end && reader_.is_right_shift(k)) {
        k += 2;
      } else {
        const std::string_view word = reader_.text(k);
        const bool operand = reader_.is_name(k) || reader_.is_literal(k) || word == "this" ||
                             word == "sizeof" || word == "static_cast" ||
                             sources::is_number_type(word);
        if (!operand && !one_of(word, kMarks)) return false;
        ++k;
      }
    }
    return true;
  }

  bool is_fraction(Range range) const {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const std::string_view word = reader_.text(k);
      if (word == "double" || word == "float" || word == "ceil" || word == "floor") return true;
      if (reader_.is_literal(k)) {
        if (is_fraction(word)) return true;
        continue;
      }
      const bool member = is_member(reader_, k);
      if (!reader_.is_name(k) || reader_.is(k + 1, "(") || reader_.is(k + 1, "<") || member)
        continue;
      if (is_access(reader_, k + 1) || reader_.is(k + 1, "::")) continue;
      if (const auto words = fixed_.replacement(word)) {
        if (std::ranges::any_of(*words, [](auto one) { return is_fraction(one); })) return true;
        continue;
      }
      const int id = program_.model().resolve(loop_.body, word, k);
      const std::string name = id >= 0 ? types_.of(id).name : std::string();
      if (name == "double" || name == "float") return true;
    }
    return false;
  }
  static bool is_fraction(std::string_view literal) {
    if (literal.empty() || !(('0' <= literal[0] && literal[0] <= '9') || literal[0] == '.')) {
      return false;
    }
    const bool hex = literal.starts_with("0x") || literal.starts_with("0X");
    return literal.find_first_of(hex ? ".pP" : ".eE") != literal.npos;
  }

  /// Whether macros in the expression stand for numbers alone, which bind as one operand.
  bool is_limit_macro(Range range) const {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const auto words = fixed_.replacement(reader_.text(k));
      if (!words) continue;
      const bool numbers = std::ranges::all_of(*words, [](std::string_view word) {
        return ('0' <= word[0] && word[0] <= '9') || word == "(" || word == ")" || word == "+" ||
               word == "-" || word == "*" || word == "/";
      });
      const bool one =
          words->size() == 1 || (words->size() > 2 && words->front() == "(" &&
                                 words->back() == ")" && std::ranges::count(*words, "(") == 1);
      if (!numbers || !one) return false;
    }
    return true;
  }

  std::string obstacle_of_step() const {
    if (count_.step.empty()) return "";
    const std::size_t k = count_.step.begin;
    if (reader_.is_literal(k)) {
      const bool good = small_value(reader_.text(k)) > 0 &&
                        !(count_.down && has_unsigned_suffix(reader_.text(k)));
      return good ? "" : fmt::format("its step '{}' is no positive integer", text(count_.step));
    }
    const int id =
        reader_.is_name(k) ? program_.model().resolve(loop_.body, reader_.text(k), k) : -1;
    if (id < 0 || fixed_.replacement(reader_.text(k)) || sign_of_variable(id) != Sign::with) {
      if (id < 0 || sign_of_variable(id) != Sign::positive) {
        return fmt::format("its step '{}' is not known to be a signed integer", text(count_.step));
      }
    }
    if (!fixed_.is_fixed(count_.step)) {
      return fmt::format("its step '{}' may change meanwhile", text(count_.step));
    }
    return "";
  }

  /// The value of a range that is one small decimal literal, or a macro for one; -1: it is none.
  int literal(Range range) const {
    if (range.end != range.begin + 1) return -1;
    if (const auto words = fixed_.replacement(reader_.text(range.begin))) {
      return words->size() == 1 ? small_value(words->front()) : -1;
    }
    return small_value(reader_.text(range.begin));
  }

  static Sign sign_of_type(IntegerType type) {
    if (type.bits == 0) return Sign::unknown;
    // Narrow types, and those that are promoted to int, are signed in arithmetic.
    return type.unsigned_ && type.bits > 8 ? Sign::without : Sign::with;
  }

  /// Whether it is a constant that is initialized with a literal, outside of functions.
  bool is_shared_literal(const Variable& v) const {
    int literals = 0, all = 0;
    for (const Body& body : program_.model().bodies()) {
      if (body.piece->kind != sources::PieceKind::declaration) continue;
      const Reader& reader = *body.reader;
      for (std::size_t k = body.piece->range.begin; k < body.piece->range.end; ++k) {
        if (!reader.is(k, v.name) || !reader.declared(k, body.piece->range.begin)) continue;
        ++all;
        const bool literal = reader.is(k + 1, "=") && reader.is(k + 3, ";");
        literals += literal && small_value(reader.text(k + 2)) >= 0 ? 1 : 0;
      }
    }
    return all == 1 && literals == 1;
  }

  Sign sign_of_variable(int id) const {
    const Variable& v = program_.variable(id);
    if (v.body < 0 && v.type.constant && is_shared_literal(v)) return Sign::positive;
    if (v.body >= 0) {
      const Reader& reader = *program_.body(v.body).reader;
      const auto declared = reader.declared(v.at, program_.body(v.body).piece->range.begin);
      if (!declared || declared->binding || v.type.pointer) return Sign::unknown;
      if (v.type.constant && reader.is(v.at + 1, "=") && reader.is(v.at + 3, ";") &&
          small_value(reader.text(v.at + 2)) >= 0) {
        return Sign::positive;
      }
      Range type = declared->type;
      while (type.end > type.begin && reader.is(type.end - 1, "&")) --type.end;
      if (const Sign sign = sign_of_type(integer_type(reader, type)); sign != Sign::unknown) {
        return sign;
      }
    }
    static constexpr std::array<std::string_view, 8> kSigned = {
        "int", "long", "short", "signed", "int32_t", "int64_t", "ptrdiff_t", "ssize_t"};
    static constexpr std::array<std::string_view, 4> kUnsigned = {"unsigned", "size_t", "uint32_t",
                                                                  "uint64_t"};
    const std::string name = types_.of(id).name;
    if (one_of(name, kSigned)) return Sign::with;
    return one_of(name, kUnsigned) ? Sign::without : Sign::unknown;
  }

  Sign sign_of(Range range) const {
    while (reader_.is(range.begin, "(") && reader_.behind(range.begin) == range.end) {
      range = {range.begin + 1, range.end - 1};
    }
    if (range.empty()) return Sign::unknown;
    if (const auto split = last_operator(range)) {
      const Sign a = sign_of({range.begin, *split}), b = sign_of({*split + 1, range.end});
      if (*split == range.begin) return b == Sign::positive ? Sign::with : b;
      if (a == Sign::without || b == Sign::without) return Sign::without;
      if (a == Sign::unknown || b == Sign::unknown) return Sign::unknown;
      const bool positive = a == Sign::positive && b == Sign::positive && !reader_.is(*split, "-");
      return positive ? Sign::positive : Sign::with;
    }
    const std::size_t k = range.begin;
    if (range.end == k + 1 && literal(range) >= 0) {
      return has_unsigned_suffix(reader_.text(k)) ? Sign::without : Sign::positive;
    }
    if (reader_.is(k, "static_cast") && reader_.behind(reader_.behind_angles(k + 1)) == range.end) {
      return sign_of_type(integer_type(reader_, {k + 2, reader_.behind_angles(k + 1) - 1}));
    }
    if (sources::is_number_type(reader_.text(k)) && reader_.behind(k + 1) == range.end) {
      return sign_of_type(integer_type(reader_, {k, k + 1}));
    }
    if (reader_.is(range.end - 1, ")")) {
      const std::size_t open = reader_.opening(range.end - 1);
      const bool size = reader_.is(open - 1, "size") || reader_.is(open - 1, "length");
      return size && open + 2 == range.end ? Sign::without : Sign::unknown;
    }
    const bool chain = reader_.is_name(range.end - 1);
    const int id =
        chain ? program_.model().resolve(loop_.body, reader_.text(range.end - 1), range.end - 1)
              : -1;
    return id >= 0 ? sign_of_variable(id) : Sign::unknown;
  }

  /// The operator of arithmetic that is evaluated last; nothing if there is none.
  std::optional<std::size_t> last_operator(Range range) const {
    std::optional<std::size_t> found;
    bool sum = false;
    for (std::size_t k = range.begin; k < range.end;) {
      const std::size_t angles = reader_.behind_angles(k);
      const bool open = reader_.is(k, "(") || reader_.is(k, "[") || reader_.is(k, "{");
      const bool add = reader_.is(k, "+") || reader_.is(k, "-");
      const bool binary = k > range.begin && reader_.operand_ends_before(k);
      if (add && (binary || !found)) {
        if (binary || k == range.begin) found = k;
        sum = sum || binary;
      } else if (!sum && binary &&
                 (reader_.is(k, "*") || reader_.is(k, "/") || reader_.is(k, "%"))) {
        found = k;
      }
      k = angles > k ? angles : open ? reader_.behind(k) : k + 1;
    }
    return found;
  }

  /// Whether the expression, or what its variables are made of, is the limit of a type.
  bool is_extreme(Range range) const {
    const auto has = [&](const Reader& reader, Range in) {
      for (std::size_t k = in.begin; k < in.end; ++k) {
        const std::string_view word = reader.text(k);
        if (word == "numeric_limits" || word.ends_with("_MAX") || word.ends_with("_MIN")) {
          return true;
        }
      }
      return false;
    };
    if (has(reader_, range)) return true;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const int id =
          reader_.is_name(k) ? program_.model().resolve(loop_.body, reader_.text(k), k) : -1;
      if (id < 0 || program_.variable(id).body != loop_.body) continue;
      if (has(reader_, program_.declaration_of(id))) return true;
    }
    return range.end == range.begin + 1 && reader_.is_literal(range.begin) && literal(range) < 0;
  }

  /// Why the values that C++ gives the counter may not be those of the range.
  std::string obstacle_of_values() {
    const std::string unsure = fmt::format(
        "signs or sizes of '{}' and '{}' may decide when it ends", counter(), text(count_.last));
    const Sign first = sign_of(count_.first), last = sign_of(count_.last);
    const int from = literal(count_.first), to = literal(count_.last);
    const bool inclusive = count_.comparison == "<=" || count_.comparison == ">=";
    if (is_extreme(count_.last) && (inclusive || !count_.step.empty() || integer_.bits < 64)) {
      return unsure;
    }
    if (integer_.bits < 32) {
      constexpr int kMax = 127;  // of any char
      return from >= 0 && from <= kMax && to >= 0 && to < kMax && count_.step.empty()
                 ? order(from, to)
                 : unsure;
    }
    if (count_.comparison == "!=") {
      const bool ordered = from >= 0 && to >= 0 && (count_.down ? from >= to : from <= to);
      const bool natural = count_.down ? to == 0 && first != Sign::unknown : from == 0;
      if (!ordered && !natural) return unsure;
    }
    const bool starts_positive = first == Sign::positive || first == Sign::without;
    if (integer_.unsigned_) {
      cast_first_ = !starts_positive;
      if (last != Sign::positive && last != Sign::without) {
        if (integer_.bits < 64 && last != Sign::with) return unsure;
        if (integer_.bits < 64 && !is_int(count_.last)) return unsure;
        cast_last_ = true;
      }
      if (!count_.down) return "";
      const bool ends = count_.comparison == ">=" ? to > 0 : true;
      return ends && count_.step.empty() ? "" : unsure;
    }
    if (last == Sign::positive || last == Sign::with) return "";
    // The comparison may be one of unsigned integers: right while the counter is not negative.
    const bool ends = !count_.down || (count_.comparison != ">=" && count_.step.empty());
    return starts_positive && ends ? "" : unsure;
  }

  std::string order(int from, int to) const {
    if (count_.comparison == "!=" && (count_.down ? from < to : from > to)) {
      return "it never meets its limit";
    }
    if (count_.down && count_.comparison == ">=" && to == 0 && integer_.unsigned_) {
      return "it never meets its limit";
    }
    return "";
  }

  /// Whether the expression is one variable of type int.
  bool is_int(Range range) const {
    const int id =
        range.end == range.begin + 1
            ? program_.model().resolve(loop_.body, reader_.text(range.begin), range.begin)
            : -1;
    return id >= 0 && types_.of(id).name == "int";
  }

  std::string range() const {
    std::string first = text(count_.first), last = text(count_.last);
    if (cast_first_) first = fmt::format("static_cast<{}>({})", type_, first);
    if (cast_last_) last = fmt::format("static_cast<{}>({})", type_, last);
    if (count_.comparison == "<=" || count_.comparison == ">=") {
      bool shifts = false;
      for (std::size_t k = count_.last.begin; k + 1 < count_.last.end; ++k) {
        shifts = shifts || reader_.is(k, "<<") || (reader_.is(k, ">") && reader_.is(k + 1, ">"));
      }
      if (shifts && !cast_last_) last = "(" + last + ")";
      last += count_.down ? " - 1" : " + 1";
    }
    std::string step = count_.step.empty() ? "1" : text(count_.step);
    if (count_.down) step = "-" + step;
    if (first == "0" && step == "1") return last;
    return fmt::format("flor::range({}, {}{})", first, last, step == "1" ? "" : ", " + step);
  }

  const Program& program_;
  const StateTypes& types_;
  const TextEdits& edits_;
  Loop loop_;
  const Reader& reader_;
  Fixed fixed_;
  Counting count_;
  IntegerType integer_;
  std::string type_;
  int variable_ = -1;
  bool cast_first_ = false, cast_last_ = false;
};

}  // namespace

CountedRange counted_range(const Program& program, const Carried& carried, const StateTypes& types,
                           const TextEdits& edits, Loop loop) {
  return Counted(program, carried, types, edits, loop).run();
}

}  // namespace flor::instrument
