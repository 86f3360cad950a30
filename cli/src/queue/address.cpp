#include "queue/address.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace flor::cli {
namespace {

constexpr std::string_view kScheme = "redis://";

[[noreturn]] void refuse(std::string_view why) {
  throw UsageError(
      fmt::format("--queue: {}: give redis://[[user]:password@]host[:port][/db]", why));
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    int code = 0;
    const char* const begin = text.data() + i + 1;
    const char* const end = text.data() + std::min(i + 3, text.size());
    const auto [last, error] = std::from_chars(begin, end, code, 16);
    if (error != std::errc() || last != begin + 2) refuse("a '%' is followed by two digits");
    result += static_cast<char>(code);
    i += 2;
  }
  return result;
}

int number(std::string_view text, int least, int most, std::string_view what) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    refuse(fmt::format("{} is a number from {} to {}", what, least, most));
  }
  return value;
}

/// Cuts `text` at the first `sign` (`last`: at the last one), and returns what followed; nullopt if
/// there is none.
std::optional<std::string_view> cut(std::string_view& text, char sign, bool last) {
  const std::size_t at = last ? text.rfind(sign) : text.find(sign);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

}  // namespace

std::string QueueAddress::name() const {
  const bool bare = host.find(':') == host.npos;
  return fmt::format(fmt::runtime(bare ? "redis://{}:{}/{}" : "redis://[{}]:{}/{}"), host, port,
                     database);
}

QueueAddress parse_queue_address(std::string_view url) {
  if (!url.starts_with(kScheme)) refuse("only redis:// is known");
  std::string_view place = url.substr(kScheme.size());
  QueueAddress address;
  std::string_view credentials;
  if (const std::size_t at = place.rfind('@'); at != place.npos) {
    credentials = place.substr(0, at);
    place = place.substr(at + 1);
    const auto password = cut(credentials, ':', false);
    if (!password) refuse("a password comes after a ':'");
    address.user = decoded(credentials);
    address.password = decoded(*password);
  }
  if (const auto database = cut(place, '/', false); database && !database->empty()) {
    address.database = number(*database, 0, 1'000'000, "the database");
  }
  const bool bracketed = place.starts_with('[');
  if (!bracketed || place.back() != ']') {
    if (const auto port = cut(place, ':', true)) address.port = number(*port, 1, 65535, "the port");
  }
  if (bracketed) {
    if (place.size() < 3 || place.back() != ']') refuse("a ']' is missing");
    place = place.substr(1, place.size() - 2);
  } else if (place.find(':') != place.npos) {
    refuse("an address with colons is put into [ ]");
  }
  if (place.empty()) refuse("the host is missing");
  address.host = place;
  return address;
}

}  // namespace flor::cli
