#include "output/file_name.h"

#include <flor/store/digest.h>

#include <algorithm>
#include <span>

namespace flor::cli {

std::string file_name_of(std::string_view name) {
  constexpr std::size_t kLongest = 200, kDigits = 12;
  std::string result(name);
  std::ranges::replace(result, '/', '_');
  if (result.size() <= kLongest) return result;
  std::size_t end = kLongest;
  const auto goes_on = [&](std::size_t at) {  // whether the byte continues a UTF-8 character
    return (static_cast<unsigned char>(result[at]) & 0xC0) == 0x80;
  };
  while (end > 0 && goes_on(end)) --end;
  result.resize(end);
  const auto whole = std::as_bytes(std::span(name));
  return result + "-" + store::digest_of(whole).hex().substr(0, kDigits);
}

}  // namespace flor::cli
