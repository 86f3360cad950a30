// Writes comma-separated values.
#include "output/csv.h"

namespace flor::cli {

void CsvWriter::field(std::string_view text) {
  if (!first_) line_ += ',';
  first_ = false;
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line_ += text;
    return;
  }
  line_ += '"';
  for (const char c : text) {
    if (c == '"') line_ += '"';
    line_ += c;
  }
  line_ += '"';
}

void CsvWriter::end_row() {
  line_ += '\n';
  out_.write(line_);
  line_.clear();
  first_ = true;
}

}  // namespace flor::cli
