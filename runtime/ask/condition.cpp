#include "ask/condition.h"

#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace flor::ask {

struct Condition::Node {
  enum class Kind { comparison, both, either, negation } kind = Kind::comparison;
  std::unique_ptr<const Node> first, second;
  std::string column, comparison, value;
  std::optional<double> number;  // set if the value is a number that was not quoted
};

namespace {

using Node = Condition::Node;
using NodePointer = std::unique_ptr<const Node>;

constexpr std::array<std::string_view, 8> kOperators = {"==", "!=", "<=", ">=", "=", "<", ">", "~"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_special(char c) {
  return is_space(c) || std::string_view("<>=!~()'\"").find(c) != std::string_view::npos;
}
bool is_keyword(std::string_view word) { return word == "and" || word == "or" || word == "not"; }

/// The first characters of a word in a message.
std::string cut(std::string text) {
  constexpr std::size_t kShown = 24;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++shown) {
    const std::size_t length = store::first_code_point(std::string_view(text).substr(end)).length;
    const std::size_t next = end + std::max<std::size_t>(length, 1);
    if (shown + 1 == kShown && next < text.size()) return text.substr(0, end) + "…";
    end = next;
  }
  return text;
}

struct Word {
  enum class Kind { word, quoted, comparison, open, close, end } kind = Kind::end;
  std::string text;
  std::size_t at = 0;  // index of its first byte

  bool is(std::string_view keyword) const { return kind == Kind::word && text == keyword; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { next(); }

  NodePointer run() {
    constexpr std::size_t kLongest = 1 << 16;
    if (text_.size() > kLongest) {
      throw UsageError(fmt::format("a condition has at most {} bytes, and this one has {}",
                                   kLongest, text_.size()));
    }
    NodePointer root = either(0);
    if (word_.kind != Word::Kind::end) wrong("'and', 'or' or the end");
    return root;
  }

 private:
  // Deeper than any user nests conditions; protects the stack.
  static constexpr int kDepthMax = 200;

  [[noreturn]] void wrong(std::string_view expected) const {
    const std::string found = word_.kind == Word::Kind::end
                                  ? std::string("the end")
                                  : fmt::format("'{}'", cut(store::printable(word_.text)));
    throw UsageError(
        fmt::format("condition '{}', column {}: expected {}, found {}; conditions are as 'lr<0.01 "
                    "and accuracy>0.9'",
                    here(), word_.at + 1, expected, found));
  }

  /// The text around the wrong word; a short text as a whole.
  std::string here() const {
    constexpr std::size_t kShown = 80;
    if (text_.size() <= kShown) return store::printable(text_);
    const std::size_t begin =
        std::min(word_.at - std::min(word_.at, kShown / 2), text_.size() - kShown);
    const std::size_t end = begin + kShown;
    return fmt::format("{}{}{}", begin > 0 ? "..." : "",
                       store::printable(text_.substr(begin, kShown)),
                       end < text_.size() ? "..." : "");
  }

  void next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    word_ = {.kind = Word::Kind::end, .text = {}, .at = at_};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (c == '(' || c == ')') {
      word_.kind = c == '(' ? Word::Kind::open : Word::Kind::close;
      word_.text = c;
      ++at_;
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (is_special(c)) {
      comparison();
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() && !is_special(text_[at_])) ++at_;
      word_.kind = Word::Kind::word;
      word_.text = text_.substr(begin, at_ - begin);
    }
  }

  /// Reads a quoted text, in which a doubled quote stands for one.
  void quoted(char quote) {
    word_.kind = Word::Kind::quoted;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != quote) break;
        ++at_;
      }
      word_.text += text_[at_];
    }
    if (at_ == text_.size()) {
      word_ = {.kind = Word::Kind::end, .text = {}, .at = at_};
      wrong(fmt::format("the closing {}", quote));
    }
    ++at_;
  }

  void comparison() {
    const auto found = std::ranges::find_if(
        kOperators, [&](std::string_view op) { return text_.substr(at_).starts_with(op); });
    word_.text = found == kOperators.end() ? std::string(1, text_[at_]) : std::string(*found);
    if (found == kOperators.end()) wrong("one of = != < <= > >= ~");
    word_.kind = Word::Kind::comparison;
    at_ += word_.text.size();
  }

  NodePointer pair(Node::Kind kind, NodePointer first, NodePointer second) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->first = std::move(first);
    node->second = std::move(second);
    return node;
  }

  NodePointer either(int depth) {
    NodePointer node = both(depth);
    while (word_.is("or")) {
      next();
      node = pair(Node::Kind::either, std::move(node), both(depth));
    }
    return node;
  }

  NodePointer both(int depth) {
    NodePointer node = factor(depth);
    while (word_.is("and")) {
      next();
      node = pair(Node::Kind::both, std::move(node), factor(depth));
    }
    return node;
  }

  NodePointer factor(int depth) {
    if (depth > kDepthMax) wrong("a condition with fewer brackets");
    if (word_.is("not")) {
      next();
      return pair(Node::Kind::negation, factor(depth + 1), nullptr);
    }
    if (word_.kind == Word::Kind::open) {
      next();
      NodePointer node = either(depth + 1);
      if (word_.kind != Word::Kind::close) wrong("'and', 'or' or ')'");
      next();
      return node;
    }
    return compare();
  }

  NodePointer compare() {
    const bool named = word_.kind == Word::Kind::quoted ||
                       (word_.kind == Word::Kind::word && !is_keyword(word_.text));
    if (!named || word_.text.empty()) wrong("a metric, an argument or a column");
    auto node = std::make_unique<Node>();
    node->column = word_.text;
    next();
    if (word_.kind != Word::Kind::comparison) wrong("one of = != < <= > >= ~");
    node->comparison = word_.text == "==" ? "=" : word_.text;
    next();
    value(*node);
    return node;
  }

  void value(Node& node) {
    const bool plain = word_.kind == Word::Kind::word && !is_keyword(word_.text);
    if (!plain && word_.kind != Word::Kind::quoted) wrong("a value");
    node.value = word_.text;
    if (plain) node.number = as_number(node.value);
    next();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Word word_;
};

template <typename T>
bool compares(std::string_view comparison, const T& a, const T& b) {
  if (comparison == "=") return a == b;
  if (comparison == "!=") return a != b;
  if (comparison == "<") return a < b;
  if (comparison == "<=") return a <= b;
  if (comparison == ">") return a > b;
  return a >= b;
}

/// Whether any word of the field matches; for !=, whether no word equals the value.
bool holds_of_words(const Node& node, const std::vector<std::string>& words) {
  const auto matches = [&](const std::string& word) {
    return node.comparison == "~" ? word.find(node.value) != std::string::npos
                                  : compares(node.comparison, word, node.value);
  };
  return node.comparison == "!=" ? std::ranges::all_of(words, matches)
                                 : std::ranges::any_of(words, matches);
}

bool holds(const Node& node, const Field& field) {
  if (field.text.empty()) return false;
  if (!field.words.empty()) return holds_of_words(node, field.words);
  if (node.comparison == "~") return field.text.find(node.value) != std::string::npos;
  if (field.number && node.number) {
    // A number also equals its rounded form, as tables show it.
    const bool is_shown = field.text == node.value && !std::isnan(*node.number);
    if (is_shown && node.comparison == "=") return true;
    if (is_shown && node.comparison == "!=") return false;
    return compares(node.comparison, *field.number, *node.number);
  }
  if (node.number && !field.number && node.comparison != "=" && node.comparison != "!=") {
    return false;
  }
  return compares(node.comparison, field.text, node.value);
}

bool holds(const Node& node, const std::function<Field(const std::string&)>& field) {
  switch (node.kind) {
    case Node::Kind::comparison:
      return holds(node, field(node.column));
    case Node::Kind::both:
      return holds(*node.first, field) && holds(*node.second, field);
    case Node::Kind::either:
      return holds(*node.first, field) || holds(*node.second, field);
    case Node::Kind::negation:
      return !holds(*node.first, field);
  }
  return false;
}

void collect(const Node& node, std::vector<std::string>& columns) {
  if (node.kind == Node::Kind::comparison) {
    if (std::ranges::find(columns, node.column) == columns.end()) columns.push_back(node.column);
    return;
  }
  collect(*node.first, columns);
  if (node.second) collect(*node.second, columns);
}

std::optional<store::NumberTest> test_of(const Node& node) {
  if (!node.number || std::isnan(*node.number)) return std::nullopt;
  const auto names = names_of(node.column);
  if (!names) return std::nullopt;
  store::NumberTest test = *names;
  const std::string& op = node.comparison;
  // Two numbers that tables show alike agree in their first six digits.
  const bool is_equal = op == "=" && std::isfinite(*node.number);
  const double alike = is_equal ? std::abs(*node.number) * 1e-5 : 0;
  if (op == "=" || op == ">" || op == ">=") test.least = *node.number - alike;
  if (op == "=" || op == "<" || op == "<=") test.most = *node.number + alike;
  if (op == "!=" || op == "~") return std::nullopt;
  return test;
}

void collect(const Node& node, std::vector<store::NumberTest>& tests) {
  if (node.kind == Node::Kind::both) {
    collect(*node.first, tests);
    collect(*node.second, tests);
  } else if (node.kind == Node::Kind::comparison) {
    if (auto test = test_of(node)) tests.push_back(*std::move(test));
  }
}

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string print(const Node& node) {
  const auto inner = [&](const Node& child) {
    const bool weaker = child.kind == Node::Kind::either ||
                        (child.kind == Node::Kind::both && node.kind == Node::Kind::negation);
    const bool bracketed = weaker && node.kind != Node::Kind::either;
    return bracketed ? fmt::format("({})", print(child)) : print(child);
  };
  const auto right = [&](const Node& child) {  // chains of equal operators are nested on the left
    return child.kind == node.kind ? fmt::format("({})", print(child)) : inner(child);
  };
  switch (node.kind) {
    case Node::Kind::comparison: {
      const bool plain = std::ranges::none_of(node.column, is_special) && !is_keyword(node.column);
      return (plain ? node.column : in_quotes(node.column)) + node.comparison +
             (node.number ? node.value : in_quotes(node.value));
    }
    case Node::Kind::both:
      return inner(*node.first) + " and " + right(*node.second);
    case Node::Kind::either:
      return inner(*node.first) + " or " + right(*node.second);
    case Node::Kind::negation:
      return fmt::format("not {}", inner(*node.first));
  }
  return {};
}

}  // namespace

Condition::Condition(std::string_view text) : root_(Parser(text).run()) {}
Condition::Condition(Condition&&) noexcept = default;
Condition& Condition::operator=(Condition&&) noexcept = default;
Condition::~Condition() = default;

std::vector<std::string> Condition::columns() const {
  std::vector<std::string> columns;
  collect(*root_, columns);
  return columns;
}

std::vector<store::NumberTest> Condition::necessary() const {
  std::vector<store::NumberTest> tests;
  collect(*root_, tests);
  return tests;
}

bool Condition::holds(const std::function<Field(const std::string&)>& field) const {
  return ask::holds(*root_, field);
}

std::string Condition::text() const { return print(*root_); }

std::function<bool(const ListedRun&)> run_filter(std::span<const ListedRun> runs,
                                                 const std::vector<std::string>& conditions,
                                                 std::int64_t now_us) {
  auto parsed = std::make_shared<std::vector<Condition>>();
  std::map<std::string, RunColumn> columns;
  for (const std::string& text : conditions) {
    parsed->emplace_back(text);
    if (runs.empty()) continue;
    for (const std::string& name : parsed->back().columns()) {
      columns.try_emplace(name, find_column(name, runs));
    }
  }
  return
      [parsed = std::move(parsed), columns = std::move(columns), now_us](const ListedRun& facts) {
        return std::ranges::all_of(*parsed, [&](const Condition& condition) {
          return condition.holds(
              [&](const std::string& column) { return columns.at(column).field(facts, now_us); });
        });
      };
}

void keep_where(std::vector<ListedRun>& runs, const std::vector<std::string>& conditions,
                std::int64_t now_us) {
  const auto holds = run_filter(runs, conditions, now_us);
  std::erase_if(runs, [&](const ListedRun& facts) { return !holds(facts); });
}

}  // namespace flor::ask
