#include "seats/places.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace flor::cli {

std::size_t usual_seats(const EngineWish& engine) {
  if (engine.kind == EngineWish::Kind::ssh) return engine.words.size();
  constexpr std::size_t kUsual = 4;
  return engine.slurm.nodes.value_or(kUsual);
}

std::vector<std::string> parse_gpus(const std::string& list) {
  std::vector<std::string> gpus;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    gpus.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool whole = !list.ends_with(',') && std::ranges::none_of(gpus, &std::string::empty);
  if (!list.empty() && !whole) {
    throw UsageError(fmt::format("--gpus {}: give their numbers, e.g. 0,1", printable(list)));
  }
  return gpus;
}

}  // namespace flor::cli
