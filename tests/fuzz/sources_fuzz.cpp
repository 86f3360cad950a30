// Fuzz target of the reader of C++ sources. The input is one file, or two versions of one that a
// zero byte separates: any bytes must give tokens, a structure without gaps, and an answer for
// every loop, soon.
#include "sources/analysis.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace flor::fuzz::sources_target {
namespace {

void check_structure(const std::string& text) {
  const flor::sources::Source source("a.cpp", text);
  std::size_t at = 0;
  for (const auto& piece : source.structure.pieces) {
    if (piece.range.begin != at || piece.range.end <= at) std::abort();
    at = piece.range.end;
  }
  const std::size_t count = source.tokens.all.size();
  if (at != count) std::abort();
  for (const auto& loop : source.structure.loops) {
    if (loop.range.end > count || loop.header.end > count) std::abort();
  }
  for (const auto& inner : source.structure.inner) {
    if (inner.range.end > count || inner.range.begin >= inner.range.end) std::abort();
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = bytes.find('\0');
  const std::string before(bytes.substr(0, zero));
  const std::string now(zero == bytes.npos ? std::string_view() : bytes.substr(zero + 1));
  check_structure(before);
  check_structure(now);

  flor::sources::AnalysisInput input;
  input.changed.push_back({"a.cpp", before, now});
  input.nested = {"train", "loop"};
  const flor::sources::Analysis analysis(std::move(input));
  if (before == now && !analysis.nothing_changed()) std::abort();
  for (std::uint32_t line = 1; line < 8; ++line) {
    (void)analysis.touched({"/x/a.cpp", line, 3}, "train");
  }
  return 0;
}

}  // namespace flor::fuzz::sources_target
