// Edits of a source file at positions in its tokens. The rest of the file is not changed by a byte.
#pragma once

#include "sources/syntax/source.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::instrument {

using sources::Range;
using sources::Source;

class TextEdits {
 public:
  /// `source` must outlive this object.
  explicit TextEdits(const Source& source) : source_(source) {}

  /// Whether each token of the range stands in the file as it is: without continued lines or
  /// digraphs.
  bool is_literal(Range range) const;
  /// The text of the tokens, with all that stands between them.
  std::string text_of(Range range) const;
  /// The white space at the beginning of the line of a token.
  std::string indentation(std::size_t token) const;
  /// One more level of indentation in this file: a tab or some spaces.
  std::string indentation_unit() const;

  /// How long lines may be: as the longest of the file, and at least 80 characters.
  std::size_t width() const;
  /// The end of a line, and the indentation of one that continues it.
  std::string continued(const std::string& indentation) const;

  void replace(Range range, std::string text);
  void insert_before(std::size_t token, std::string text);
  void insert_after(std::size_t token, std::string text);
  /// Inserts texts around a range. Where its line would be too long, it is divided before the token
  /// at `dividable`, which must be on that line.
  void insert_around(Range range, const std::string& before, const std::string& after,
                     std::size_t dividable);
  /// Adds a line directly above the line of the token; below the token before it if they share a
  /// line.
  void line_above(std::size_t token, std::string_view line);
  /// Adds a line below the token before this one, and so above the comments over this one.
  void line_in_gap(std::size_t token, const std::string& indentation, std::string_view line);

  bool empty() const { return edits_.empty(); }
  /// The file with all edits. Those at one place keep the order in which they were made.
  std::string applied() const;

 private:
  struct Edit {
    std::size_t begin, end;  ///< bytes
    std::string text;
  };

  std::size_t begin_of(std::size_t token) const;
  std::size_t end_of(std::size_t token) const;
  std::size_t line_start(std::size_t at) const;
  std::string_view newline() const;

  const Source& source_;
  std::vector<Edit> edits_;
  std::set<std::size_t> parted_;  ///< bytes at which a line was divided
  /// The work of `insert_around` on a line: the byte at which its last part begins, and how much
  /// longer that part became.
  struct Grown {
    std::size_t from = 0, by = 0;
  };
  std::map<std::uint32_t, Grown> grown_;
};

}  // namespace flor::instrument
