// Colours for output. A colour only emphasizes: the text says the same without it.
#pragma once

#include "ask/shown.h"

#include <string>
#include <string_view>

namespace flor::cli {

using ask::Tone;

enum class ColorChoice { automatic, always, never };

/// Parses "auto", "always" or "never"; throws UsageError for anything else.
ColorChoice parse_color(std::string_view text);

/// Decides once whether to colour. With ColorChoice::automatic it colours only on a terminal that
/// is not `dumb`, and only if NO_COLOR is unset or empty.
class Style {
 public:
  Style(ColorChoice choice, bool terminal);

  bool colored() const { return colored_; }
  std::string_view begin(Tone tone) const;
  std::string_view end(Tone tone) const;
  std::string paint(Tone tone, std::string_view text) const;

 private:
  bool colored_;
};

}  // namespace flor::cli
