// Times, durations and sizes as text, for people and for programs.
#include "ask/time.h"

#include "base/text.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace flor::ask {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

using Time = std::chrono::sys_time<std::chrono::microseconds>;

Time time_of(std::int64_t time_us) { return Time(std::chrono::microseconds(time_us)); }

std::string date(std::chrono::sys_days days) {
  const std::chrono::year_month_day day(days);
  return fmt::format(FMT_COMPILE("{:04}-{:02}-{:02}"), static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
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
  const Time time = time_of(time_us);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{}T{:02}:{:02}:{:02}.{:06}Z", date(day), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::string relative(std::int64_t time_us, std::int64_t now_us) {
  const std::int64_t seconds = (now_us - time_us) / kSecond;
  // Another machine's clock may be ahead: up to a minute counts as "just now", beyond that the date
  // is printed.
  if (seconds < -60 || seconds >= 30 * 86400) {
    return date(std::chrono::floor<std::chrono::days>(time_of(time_us)));
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

std::string remaining(double seconds) {
  if (!(seconds >= 0)) return "?";
  const auto whole = std::max<std::int64_t>(1, std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  const std::int64_t minutes = (whole + 59) / 60;
  if (minutes < 60) return fmt::format("{} min", minutes);
  return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                           : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string bytes(std::uint64_t count) { return store::print_bytes(count); }

}  // namespace flor::ask
