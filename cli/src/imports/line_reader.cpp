#include "imports/line_reader.h"

#include "file/filesystem.h"

#include <flor/store/error.h>

#include <algorithm>
#include <span>

namespace flor::cli {
namespace {

/// How much of a line that is too long is handed out, at least one byte.
std::size_t length_of_piece(std::string_view piece) {
  // Behind a blank no word goes on; behind a comma or a bracket one may, but seldom a number.
  for (const std::string_view ends : {"\r", " \t", ";()[]{}<>|\"=", ","}) {
    const std::size_t last = piece.find_last_of(ends);
    if (last != piece.npos) return last + 1;
  }
  return piece.size();
}

}  // namespace

std::string_view LogLine::content() const {
  std::string_view content = text;
  if (content.ends_with('\n')) content.remove_suffix(1);
  if (content.size() < text.size() && content.ends_with('\r')) content.remove_suffix(1);
  return content;
}

LineReader::LineReader(const store::File& file) : file_(file), size_(file.size()) {}

/// Drops what was handed out, and reads more behind the rest.
void LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t had = buffer_.size();
  const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kLineMax, size_ - read_));
  buffer_.resize(had + more);
  const std::size_t came =
      file_.read_at(std::as_writable_bytes(std::span(buffer_)).subspan(had), read_);
  buffer_.resize(had + came);
  read_ += came;
  if (came < more) size_ = read_;  // the file was cut meanwhile
}

bool LineReader::next(LogLine& line) {
  std::size_t end = buffer_.find('\n', at_);
  if (end == buffer_.npos && buffer_.size() - at_ < kLineMax && read_ < size_) {
    fill();
    end = buffer_.find('\n', at_);
  }
  const std::size_t rest = buffer_.size() - at_;
  if (rest == 0) return false;
  std::size_t length = end == buffer_.npos ? rest : end + 1 - at_;
  line.is_cut = length > kLineMax || (end == buffer_.npos && read_ < size_);
  if (line.is_cut) {
    length = length_of_piece(std::string_view(buffer_).substr(at_, std::min(length, kLineMax)));
  }
  line.is_rest = goes_on_;
  if (!goes_on_) ++number_;
  goes_on_ = line.is_cut;
  line.text = std::string_view(buffer_).substr(at_, length);
  line.offset = read_ - rest;
  line.number = number_;
  at_ += length;
  return true;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

void require_text_of_bytes(std::string_view beginning) {
  if (beginning.find('\0') == beginning.npos && !beginning.starts_with("\xFF\xFE") &&
      !beginning.starts_with("\xFE\xFF")) {
    return;
  }
  throw UsageError("it is no text of bytes: convert it to UTF-8, or say what it is with --format");
}

}  // namespace flor::cli
