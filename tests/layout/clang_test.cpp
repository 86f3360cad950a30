// Code that gcc takes without a warning, and that Debian's clang 14, which compiles the fuzzers and
// the presets of the sanitizers, refuses or finds to be wrong where it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const fs::path kSources = FLOR_SOURCE_DIR;

/// The text with blanks in the place of what is in comments and in quotes.
std::string code_of(const std::string& text) {
  std::string code = text;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::size_t end = i;
    if (text.compare(i, 2, "//") == 0) {
      end = text.find('\n', i);
    } else if (text[i] == '"') {
      for (end = i + 1; end < text.size() && text[end] != '"' && text[end] != '\n'; ++end) {
        if (text[end] == '\\') ++end;
      }
    }
    for (; i < std::min(end, code.size()); ++i) code[i] = ' ';
  }
  return code;
}

/// The position after the bracket that closes the one at `begin`; the end where there is none.
std::size_t after_closing(const std::string& code, std::size_t begin, char open, char close) {
  int depth = 0;
  for (std::size_t i = begin; i < code.size(); ++i) {
    depth += code[i] == open ? 1 : code[i] == close ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return code.size();
}

/// Where the scope of a structured binding ends, which is in the text from `begin` to `end`.
std::size_t scope_end(const std::string& code, std::size_t begin, std::size_t end) {
  const std::size_t next = code.find_first_not_of(" \n", end);
  if (next != code.npos && code[next] == ':' && code[next + 1] != ':') {  // of a range-based for
    const std::size_t head = after_closing(code, code.rfind('(', begin), '(', ')');
    const std::size_t body = code.find_first_not_of(" \n", head);
    if (body == code.npos) return code.size();
    return code[body] == '{' ? after_closing(code, body, '{', '}') : code.find(';', body);
  }
  int depth = 0;
  for (std::size_t i = end; i < code.size(); ++i) {
    depth += code[i] == '{' ? 1 : code[i] == '}' ? -1 : 0;
    if (depth < 0) return i;
  }
  return code.size();
}

/// Whether the lambda with which `text` begins ("[&](...) {...}") takes `name` from outside.
bool captures(const std::string& text, const std::string& name) {
  const std::size_t list_end = text.find(']') + 1, body = text.find('{', list_end);
  if (body == text.npos) return false;
  const std::string list = text.substr(0, list_end), head = text.substr(list_end, body - list_end);
  if (std::regex_search(list, std::regex("[\\[,&]\\s*" + name + "\\s*[,\\]]"))) return true;
  if (list[1] != '&' && list[1] != '=') return false;
  if (std::regex_search(list, std::regex("\\b" + name + "\\s*="))) return false;
  if (std::regex_search(head, std::regex("[ &*]" + name + "\\s*[,)]"))) return false;
  const std::string statements = text.substr(body, after_closing(text, body, '{', '}') - body);
  return std::regex_search(statements, std::regex("(^|[^\\w.>:])" + name + "\\b"));
}

/// Lines with a lambda that captures a name of a structured binding.
std::vector<std::size_t> captured_bindings(const std::string& text) {
  static const std::regex binding(R"(auto\s*&{0,2}\s*\[([\w\s,]+)\])"), word(R"(\w+)"),
      lambda(R"([^\w\])]\[[&=]?[\w\s,&=*.:]*\]\s*[({])");
  std::vector<std::size_t> lines;
  const std::string code = code_of(text);
  const auto matches = [](const std::string& from, std::size_t at, const std::regex& what,
                          std::smatch& found) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    const auto most = static_cast<std::ptrdiff_t>(std::min<std::size_t>(from.size() - at, 300));
    return std::regex_search(begin, begin + most, found, what,
                             std::regex_constants::match_continuous);
  };
  for (std::size_t begin = code.find("auto"); begin != code.npos;
       begin = code.find("auto", begin + 1)) {
    std::smatch bound, each;
    if (!matches(code, begin, binding, bound)) continue;
    const std::size_t end = begin + static_cast<std::size_t>(bound.length());
    const std::string scope = code.substr(end, scope_end(code, begin, end) - end);
    const std::string list = bound.str(1);
    const std::vector<std::string> names(std::sregex_token_iterator(list.begin(), list.end(), word),
                                         std::sregex_token_iterator());
    for (std::size_t at = scope.find('[', 1); at != scope.npos; at = scope.find('[', at + 1)) {
      if (!matches(scope, at - 1, lambda, each)) continue;
      const std::string rest = scope.substr(at);
      if (std::ranges::none_of(names, [&](const auto& name) { return captures(rest, name); })) {
        continue;
      }
      const auto place = code.begin() + static_cast<std::ptrdiff_t>(end + at);
      lines.push_back(1 + static_cast<std::size_t>(std::count(code.begin(), place, '\n')));
    }
  }
  return lines;
}

TEST(ClangOfTheSanitizers, FindsALambdaThatCapturesAStructuredBinding) {
  const auto lines = [](const std::string& body) {
    return captured_bindings("void f() {\n" + body + "\n}\n");
  };
  EXPECT_EQ(lines("auto [a, b] = g();\nh([&] { return a; });"), std::vector<std::size_t>{3});
  EXPECT_EQ(lines("for (auto& [a, b] : g()) {\nh([b](int) {});\n}"), std::vector<std::size_t>{3});
  EXPECT_EQ(lines("for (auto [a, b] : g()) h([=](int c) { return c + b; });").size(), 1u);
  EXPECT_THAT(lines("auto [a, b] = g();\nh([a = a] { return a; });"), IsEmpty());
  EXPECT_THAT(lines("auto [a, b] = g();\nh([&](int a) { return a; });"), IsEmpty());
  EXPECT_THAT(lines("auto [a, b] = g();\nh([&] { return c.a; });"), IsEmpty());
  EXPECT_THAT(lines("{ auto [a, b] = g(); }\nh([&] { return a; });"), IsEmpty());
}

TEST(ClangOfTheSanitizers, TakesNoLambdaThatCapturesAStructuredBinding) {
  std::vector<std::string> places;
  for (const char* folder : {"store", "runtime", "cli", "python", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSources / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      const std::string text(std::istreambuf_iterator<char>(in), {});
      for (const std::size_t line : captured_bindings(text)) {
        places.push_back(fs::relative(entry.path(), kSources).string() + ":" +
                         std::to_string(line));
      }
    }
  }
  EXPECT_THAT(places, IsEmpty());
}

/// The ranges of range-based fors that are parts of a temporary, which is destroyed before the
/// first iteration: calls at the beginning, and `value()` of JSON, count as ones that return an
/// object.
std::vector<std::string> parts_of_temporaries(const std::string& text) {
  static const std::regex part(
      R"(^\s*[\w:]+\(\)(\[\]|\.(at|items|front|back|value)\(\))|\.value\(\)(\[\]|\.))");
  const std::string code = code_of(text);
  std::vector<std::string> found;
  for (std::size_t at = code.find("for ("); at != code.npos; at = code.find("for (", at + 1)) {
    const std::size_t open = at + 4, end = after_closing(code, open, '(', ')');
    std::string shape;  // of the range: without what is in brackets
    int depth = 0;
    bool range = false;
    for (std::size_t i = open + 1; i + 1 < end; ++i) {
      const char c = code[i];
      const bool closes = c == ')' || c == ']' || c == '}';
      if (closes) --depth;
      if (range && depth == 0) shape += c;
      if (c == '(' || c == '[' || c == '{') ++depth;
      const bool colon = c == ':' && code[i + 1] != ':' && code[i - 1] != ':';
      range = range || (colon && depth == 0);
    }
    if (std::regex_search(shape, part)) found.push_back(code.substr(open, end - open));
  }
  return found;
}

TEST(ClangOfTheSanitizers, FindsARangeThatIsAPartOfATemporary) {
  for (const char* wrong : {"f(a, {b})[c]", "json::parse(text).items()", "g().at(1)",
                            "j.value(\"a\", Json()).items()", "f(\")\")[\"points\"]"}) {
    const std::string text = std::string("for (auto& x : ") + wrong + ") h(x);";
    EXPECT_EQ(parts_of_temporaries(text).size(), 1u) << wrong;
  }
  for (const char* right : {"f(a)", "j.at(1).items()", "j[f(x)[0]]", "f().member", "a ? b : c",
                            "catalog().values({.run = 1})", "std::span(a).subspan(1)"}) {
    const std::string text = std::string("for (auto& x : ") + right + ") h(x);";
    EXPECT_THAT(parts_of_temporaries(text), IsEmpty()) << right;
  }
}

TEST(ClangOfTheSanitizers, FindsNoSuchRange) {
  std::vector<std::string> found;
  for (const char* folder : {"store", "runtime", "cli", "python", "tests", "examples", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSources / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      for (const std::string& range :
           parts_of_temporaries(std::string(std::istreambuf_iterator<char>(in), {}))) {
        found.push_back(fs::relative(entry.path(), kSources).string() + ": " + range);
      }
    }
  }
  EXPECT_THAT(found, IsEmpty());
}

// Sanitizers and fuzzers are Debian's clang 14, which refuses views and subranges of GCC's library.
TEST(ClangOfTheSanitizers, HasTheAlgorithmsThatAreUsed) {
  const std::regex refused(
      R"(std::(views::|ranges::(unique|remove|remove_if|(stable_)?partition|search|rotate|find_end|equal_range|subrange)\b))");
  std::vector<std::string> found;
  for (const char* folder : {"store", "runtime", "cli", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSources / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.find("ranges::") == line.npos && line.find("views::") == line.npos) continue;
        if (std::regex_search(code_of(line), refused)) {
          found.push_back(fs::relative(entry.path(), kSources).string() + ": " + line);
        }
      }
    }
  }
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace
