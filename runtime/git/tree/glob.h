// Shell patterns as git has them, matched in at most as many steps as pattern and text have bytes,
// multiplied. The one matcher of such patterns in Flor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flor::git {

/// `*` and `?` stop at slashes, `**` between slashes does not.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view text) const { return match(text, nullptr); }
  /// Adds the steps that it takes, for tests.
  bool matches(std::string_view text, std::size_t& steps) const { return match(text, &steps); }

 private:
  struct Token {
    enum class Kind { byte, any, star, bracket } kind = Kind::byte;
    char byte = 0;
    std::size_t at = 0;  ///< of a bracket expression, in the pattern
  };
  /// The tokens between two slashes.
  struct Part {
    bool many = false;      ///< "**": any number of parts of a path
    std::size_t least = 0;  ///< of them
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
