#include "imports/clock_text.h"

#include "imports/value_word.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace flor::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

/// Reads the parts of a time, one after the other.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {}

  bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  /// A number of exactly so many digits between the limits.
  std::optional<int> number(int digits, int least, int most) {
    int value = 0;
    for (int i = 0; i < digits; ++i) {
      if (!is_digit()) return std::nullopt;
      value = value * 10 + (text_[at_++] - '0');
    }
    if (value < least || value > most) return std::nullopt;
    return value;
  }
  bool take(std::string_view any) {
    if (at_ >= text_.size() || any.find(text_[at_]) == any.npos) return false;
    ++at_;
    return true;
  }
  char last() const { return text_[at_ - 1]; }
  std::size_t at() const { return at_; }
  void back(std::size_t at) { at_ = at; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::int64_t fraction_us(Parts& parts) {
  std::int64_t micros = 0;
  std::int64_t unit = kSecond / 10;
  for (; parts.is_digit(); unit /= 10) micros += unit * parts.number(1, 0, 9).value_or(0);
  return micros;
}

/// Seconds east of UTC, if a zone follows.
std::optional<std::int64_t> zone(Parts& parts) {
  if (parts.take("Zz")) return 0;
  const std::size_t before = parts.at();
  if (!parts.take("+-")) return std::nullopt;
  const bool west = parts.last() == '-';
  const auto hours = parts.number(2, 0, 14);
  (void)parts.take(":");
  const auto minutes = hours ? parts.number(2, 0, 59) : std::nullopt;
  if (!minutes) {
    parts.back(before);
    return std::nullopt;
  }
  const std::int64_t seconds = *hours * 3600 + *minutes * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<ClockText> clock_text(std::string_view text) {
  Parts parts(text);
  std::tm time{};
  const auto read = [&](int& to, int digits, int least, int most, int shift = 0) {
    const auto number = parts.number(digits, least, most);
    if (number) to = *number - shift;
    return number.has_value();
  };
  if (!read(time.tm_year, 4, 1970, 2200, 1900) || !parts.take("-/")) return std::nullopt;
  if (!read(time.tm_mon, 2, 1, 12, 1) || !parts.take("-/")) return std::nullopt;
  if (!read(time.tm_mday, 2, 1, 31) || !parts.take(" T_")) return std::nullopt;
  if (!read(time.tm_hour, 2, 0, 23) || !parts.take(":")) return std::nullopt;
  if (!read(time.tm_min, 2, 0, 59) || !parts.take(":")) return std::nullopt;
  if (!read(time.tm_sec, 2, 0, 60)) return std::nullopt;
  std::int64_t micros = 0;
  const std::size_t whole = parts.at();
  if (parts.take(".,")) {
    if (parts.is_digit()) {
      micros = fraction_us(parts);
    } else {
      parts.back(whole);
    }
  }
  const auto east = zone(parts);
  time.tm_isdst = -1;
  std::tm given = time;
  const std::time_t seconds = east ? ::timegm(&time) - *east : std::mktime(&time);
  if (seconds <= 0 || (east && time.tm_mday != given.tm_mday)) return std::nullopt;
  return ClockText{seconds * kSecond + micros, parts.at()};
}

std::optional<std::int64_t> clock_number(double number) {
  constexpr double k2001 = 1e9, k2200 = 7.3e9;
  for (const double unit : {1.0, 1e3, 1e6, 1e9}) {
    const double seconds = number / unit;
    if (seconds >= k2001 && seconds <= k2200) return std::llround(seconds * 1e6);
  }
  return std::nullopt;
}

std::optional<std::int64_t> clock_cell(std::string_view text) {
  if (const auto clock = clock_text(text)) {
    return clock->length == text.size() ? std::optional(clock->time_us) : std::nullopt;
  }
  const auto number = whole_number(text);
  return number ? clock_number(*number) : std::nullopt;
}

std::optional<std::int64_t> clock_of_line(std::string_view line) {
  if (line.starts_with('[')) line.remove_prefix(1);
  // Most lines have none, and are told by their first byte.
  if (!line.starts_with('1') && !line.starts_with('2')) return std::nullopt;
  const auto clock = clock_text(line);
  return clock ? std::optional(clock->time_us) : std::nullopt;
}

}  // namespace flor::cli
