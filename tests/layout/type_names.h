// The types that a C++ source defines, found by reading it: no compiler is asked.
#pragma once

#include <cctype>
#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace layout {

/// The text without comments, literals and lines of the preprocessor.
class Stripped {
 public:
  explicit Stripped(std::string_view text) : text_(text) {
    while (at_ < text_.size()) step();
  }
  std::string take() { return std::move(result_); }

 private:
  bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }
  void skip_line() {
    while (at_ < text_.size() && (text_[at_] != '\n' || text_[at_ - 1] == '\\')) ++at_;
  }
  void skip_literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) at_ += text_[at_] == '\\';
    ++at_;
  }
  bool is_in_word() const {
    return at_ > 0 && (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0);
  }
  bool begins_line() const {
    const std::size_t last = result_.find_last_not_of(" \t");
    return last == result_.npos || result_[last] == '\n';
  }
  void step() {
    if (begins("//")) return skip_line();
    if (begins("/*")) return skip_past("*/");
    if (text_[at_] == '#' && begins_line()) return skip_line();
    if (begins("R\"") && !is_in_word()) {
      const std::size_t open = text_.find('(', at_);
      const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      return skip_past(end);
    }
    if (text_[at_] == '"') return skip_literal('"');
    if (text_[at_] == '\'' && !is_in_word()) return skip_literal('\'');
    result_ += text_[at_++];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string result_;
};

/// "a::b::One" for each class, structure, union and enumeration that is defined in a namespace, in
/// their order; none in an unnamed namespace, no specialization, and nothing within others.
inline std::vector<std::string> defined_types(std::string_view text) {
  static const std::regex kNamespace(R"(^\s*(inline\s+)?namespace\s*([\w:]*)\s*$)");
  static const std::regex kType(
      R"(^\s*(template\s*<[^{}]*>\s*)?(class|struct|union|enum(\s+class)?)\s+(\[\[\w+\]\]\s*)?(\w+)(\s+final)?\s*(:(?!:)[^{}();]*)?$)");
  constexpr std::string_view kUnnamed = "*", kOther = "+";
  std::vector<std::string> scopes, types;
  std::string statement;
  for (const char c : Stripped(text).take()) {
    if (c != '{' && c != '}' && c != ';') {
      statement += c;
      continue;
    }
    if (c == '{') {
      std::smatch match;
      std::string scope(kOther), prefix;
      bool counts = true;
      for (const std::string& outer : scopes) {
        counts = counts && outer != kUnnamed && outer != kOther;
        prefix += outer + "::";
      }
      if (std::regex_match(statement, match, kNamespace)) {
        scope = match[2].length() == 0 ? std::string(kUnnamed) : match[2].str();
      } else if (counts && std::regex_match(statement, match, kType)) {
        types.push_back(prefix + match[5].str());
      }
      scopes.push_back(scope);
    } else if (c == '}' && !scopes.empty()) {
      scopes.pop_back();
    }
    statement.clear();
  }
  return types;
}

}  // namespace layout
