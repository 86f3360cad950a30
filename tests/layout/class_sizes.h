// The data members and functions that a class declares, counted by reading it: no compiler is asked.
#pragma once

#include "type_names.h"

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace layout {

struct ClassSize {
  std::string name;           ///< without namespaces; "Outer::Inner" for nested ones
  std::size_t members = 0;    ///< data, but static ones
  std::size_t functions = 0;  ///< with constructors; without deleted ones
};

/// Reads the text of one source. Types in functions are left out.
class ClassReader {
 public:
  explicit ClassReader(std::string_view text) : text_(Stripped(text).take()) {
    std::vector<std::size_t> outside;
    read_scope(outside, "");
  }
  std::vector<ClassSize> take() { return std::move(classes_); }

 private:
  /// Without what stands in <>, () and {}: these become "<>", "()" and "{}".
  static std::string outline(std::string_view statement) {
    std::string text;
    int angles = 0, others = 0;
    for (std::size_t i = 0; i < statement.size(); ++i) {
      const char c = statement[i];
      const bool arrow = c == '>' && i > 0 && statement[i - 1] == '-';
      if (c == '(' || c == '{') {
        if (others++ == 0 && angles == 0) text += c;
      } else if (c == ')' || c == '}') {
        if (--others == 0 && angles == 0) text += c;
      } else if (others > 0) {
        continue;
      } else if (c == '<' && text.find("operator") == text.npos) {
        if (angles++ == 0) text += c;
      } else if (c == '>' && angles > 0 && !arrow) {
        if (--angles == 0) text += c;
      } else if (angles == 0) {
        text += c;
      }
    }
    return text;
  }

  static bool is_function(const std::string& outline) {
    if (std::regex_search(outline, std::regex(R"(\boperator\b)"))) return true;
    const std::size_t open = outline.find('(');
    return open < outline.find('=') && open < outline.find('{') && open != outline.npos;
  }

  void count(std::string statement, std::size_t owner) {
    static const std::regex kLabel(R"(^\s*((public|private|protected)\s*:(?!:)\s*)+)");
    static const std::regex kOther(
        R"(^\s*(template\s*<>\s*)?(using|typedef|friend|static_assert|enum|class|struct|union)\b)");
    statement = std::regex_replace(statement, kLabel, "");
    const std::string text = outline(statement);
    if (text.find_first_not_of(" \n\t") == text.npos || std::regex_search(text, kOther)) return;
    if (is_function(text)) {
      static const std::regex kDeleted(R"(=\s*delete\s*$)");
      classes_[owner].functions += std::regex_search(text, kDeleted) ? 0 : 1;
    } else if (!std::regex_search(text, std::regex(R"(\bstatic\b)"))) {
      classes_[owner].members += 1 + static_cast<std::size_t>(std::ranges::count(text, ','));
    }
  }

  /// Reads to the end of the braces that were opened, or of the text. `owner`: the class, if any.
  void read_scope(const std::vector<std::size_t>& owner, const std::string& prefix) {
    static const std::regex kNamespace(R"(^\s*(inline\s+)?namespace\b[^;{}]*$|^\s*extern\s*$)");
    static const std::regex kClass(
        R"((^|[\s>:])(class|struct)\s+(\[\[\w+\]\]\s*)?([\w:]+)(\s+final)?\s*(:(?!:)[^{};]*)?$)");
    std::string statement;
    for (; at_ < text_.size() && text_[at_] != '}'; ++at_) {
      const char c = text_[at_];
      if (c == ';') {
        if (!owner.empty()) count(statement, owner.front());
        statement.clear();
      } else if (c != '{') {
        statement += c;
      } else if (std::smatch match; std::regex_search(statement, match, kNamespace)) {
        ++at_;
        read_scope({}, prefix);
        statement.clear();
      } else if (outline(statement).find('(') == std::string::npos &&
                 statement.find("enum ") == std::string::npos &&
                 std::regex_search(statement, match, kClass)) {
        const std::string name = prefix + match[4].str();
        classes_.push_back({name});
        ++at_;
        read_scope({classes_.size() - 1}, name + "::");
        statement = "struct";  // members that follow it at once are none of ours
      } else {
        statement += "{}";
        ++at_;
        skip_braces();
        if (ends_function(statement)) {
          if (!owner.empty()) count(statement, owner.front());
          statement.clear();
        }
      }
    }
  }

  /// A body, not the initializer of a member or of a base.
  bool ends_function(const std::string& statement) const {
    const std::string text = outline(statement);
    if (!is_function(text)) return false;
    const std::size_t next = text_.find_first_not_of(" \n\t", at_ + 1);
    return next == text_.npos || (text_[next] != ',' && text_[next] != '{' && text_[next] != ';');
  }

  void skip_braces() {
    for (int depth = 1; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
      if (depth == 0) return;
    }
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<ClassSize> classes_;
};

inline std::vector<ClassSize> class_sizes(std::string_view text) { return ClassReader(text).take(); }

}  // namespace layout
