// Shell patterns with git's rules. Matching takes at most (bytes of the pattern) * (bytes of the
// text) steps. All of Flor uses this matcher.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flor::git {

/// `*` and `?` do not match a slash; `**` between slashes does.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view text) const { return match(text, nullptr); }
  /// Adds the number of steps taken to `steps`, for tests.
  bool matches(std::string_view text, std::size_t& steps) const { return match(text, &steps); }

 private:
  struct Token {
    enum class Kind { byte, any, star, bracket } kind = Kind::byte;
    char byte = 0;
    std::size_t at = 0;  ///< position of a bracket expression in the pattern
  };
  /// The tokens between two slashes of the pattern.
  struct Part {
    bool many = false;      ///< "**": matches any number of path components
    std::size_t least = 0;  ///< fewest components that "**" matches
    std::size_t begin = 0, end = 0;  ///< tokens
  };
  bool compile();
  std::size_t compile_stars(std::size_t at);
  void end_part();
  bool match(std::string_view text, std::size_t* steps) const;
  bool match_part(const Part& part, std::string_view text, std::size_t* steps) const;
  bool match_token(const Token& token, char c) const;

  std::string pattern_;
  std::vector<Token> tokens_;
  std::vector<Part> parts_;
  bool valid_ = false;
};

}  // namespace flor::git
