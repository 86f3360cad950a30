#include "base/notice.h"

#include "base/hosted_program.h"
#include "base/text.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

namespace flor::detail {
namespace {

int level_named(std::string_view name) {
  if (name == "off") return -1;
  if (name == "error") return static_cast<int>(Level::result);
  if (name == "info") return static_cast<int>(Level::info);
  if (name == "debug") return static_cast<int>(Level::debug);
  return static_cast<int>(Level::warn);
}

std::atomic<int>& shown_level() {
  static std::atomic<int> level = [] {
    const char* text = std::getenv("FLOR_LOG");
    return level_named(text ? text : "warn");
  }();
  return level;
}

std::atomic<std::int64_t> own_rank{0};

}  // namespace

void set_shown_level(std::string_view name) { shown_level() = level_named(name); }

void set_notice_rank(std::int64_t rank) { own_rank = rank; }

void say(Level level, std::string_view line) noexcept {
  const std::int64_t rank = own_rank;
  if (rank > 0 && level == Level::result) level = Level::info;
  if (static_cast<int>(level) > shown_level()) return;
  try {
    std::string text = "flor: ";
    if (rank > 0) text += "rank " + std::to_string(rank) + ": ";
    std::string words = in_words_of_program(std::string(line));
    std::ranges::replace(words, '\n', ' ');
    // The line may have names from the log of a run that was recorded elsewhere.
    text += store::printable(words);
    text += '\n';
    // A lost notice is no reason to disturb the training.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  } catch (...) {
  }
}

}  // namespace flor::detail
