// Colours for output.
#include "output/color.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <cstdlib>

namespace flor::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

bool dumb_terminal() {
  const char* value = std::getenv("TERM");
  return !value || !*value || std::string_view(value) == "dumb";
}

}  // namespace

ColorChoice parse_color(std::string_view text) {
  if (text == "auto") return ColorChoice::automatic;
  if (text == "always") return ColorChoice::always;
  if (text == "never") return ColorChoice::never;
  throw UsageError(fmt::format("--color {} is not known: use auto, always or never", text));
}

Style::Style(ColorChoice choice, bool terminal)
    : colored_(choice == ColorChoice::always || (choice == ColorChoice::automatic && terminal &&
                                                 !is_set("NO_COLOR") && !dumb_terminal())) {}

std::string_view Style::begin(Tone tone) const {
  if (!colored_) return {};
  switch (tone) {
    case Tone::plain:
      return {};
    case Tone::strong:
      return "\x1b[1m";
    case Tone::faint:
      return "\x1b[2m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::hindsight:
      return "\x1b[36m";
  }
  return {};
}

std::string_view Style::end(Tone tone) const {
  return colored_ && tone != Tone::plain ? "\x1b[0m" : std::string_view();
}

std::string Style::paint(Tone tone, std::string_view text) const {
  return fmt::format("{}{}{}", begin(tone), text, end(tone));
}

}  // namespace flor::cli
