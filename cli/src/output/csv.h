// Comma-separated values by RFC 4180, except that lines end in "\n".
#pragma once

#include "output/stream.h"

#include <string>
#include <string_view>

namespace flor::cli {

class CsvWriter {
 public:
  explicit CsvWriter(Output& out) : out_(out) {}

  void field(std::string_view text);
  void end_row();

 private:
  Output& out_;
  std::string line_;
  bool first_ = true;
};

}  // namespace flor::cli
