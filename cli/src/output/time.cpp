// Times, durations and sizes, for people and for programs.
#include "output/time.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>

namespace flor::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

std::tm utc(std::int64_t time_us) {
  // Rounded down also before 1970.
  const std::int64_t seconds = time_us / kSecond - (time_us % kSecond < 0 ? 1 : 0);
  const auto time = static_cast<std::time_t>(seconds);
  std::tm result{};
  ::gmtime_r(&time, &result);
  return result;
}

std::string count_of(std::int64_t number, const char* unit, const char* units) {
  return fmt::format("{} {} ago", number, number == 1 ? unit : units);
}

}  // namespace

std::int64_t now_us() {
  using std::chrono::duration_cast, std::chrono::microseconds, std::chrono::system_clock;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

std::string rfc3339(std::int64_t time_us) {
  const std::tm time = utc(time_us);
  const std::int64_t fraction = ((time_us % kSecond) + kSecond) % kSecond;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", time.tm_year + 1900,
                     time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec,
                     fraction);
}

std::string relative(std::int64_t time_us, std::int64_t now_us) {
  const std::int64_t seconds = (now_us - time_us) / kSecond;
  // Another machine's clock may be a little ahead; a date says it better than "in the future".
  if (seconds < -60 || seconds >= 30 * 86400) {
    const std::tm time = utc(time_us);
    return fmt::format("{:04}-{:02}-{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday);
  }
  if (seconds < 5) return "just now";
  if (seconds < 60) return count_of(seconds, "s", "s");
  if (seconds < 3600) return count_of(seconds / 60, "min", "min");
  if (seconds < 2 * 86400) return count_of(seconds / 3600, "hour", "hours");
  return count_of(seconds / 86400, "day", "days");
}

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string bytes(std::uint64_t count) {
  if (count < 1024) return fmt::format("{} B", count);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(count) / 1024;
  std::size_t unit = 0;
  // 999.5 would be printed as a fourth digit.
  while (amount >= 999.5 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", amount, amount < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace flor::cli
