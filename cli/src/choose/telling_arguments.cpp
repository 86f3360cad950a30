#include "choose/telling_arguments.h"

#include "choose/asked.h"
#include "output/terminal_text.h"

#include <algorithm>
#include <utility>

namespace flor::cli {
namespace {

/// At most so many different values of one argument are distinguished.
constexpr std::size_t kValuesMax = 1000;
/// From this number of runs on, values that are all different are taken for names of the runs.
constexpr std::uint64_t kRunsOfNames = 3;

/// Whether the last word of an argument's name is "seed".
bool is_seed(std::string_view name) {
  constexpr std::string_view kSeed = "seed";
  if (name.size() < kSeed.size()) return false;
  std::string_view last = name.substr(name.size() - kSeed.size());
  if (last != kSeed && last != "Seed") return false;
  return name.size() == kSeed.size() || last == "Seed" ||
         std::string_view("_-.").find(name[name.size() - kSeed.size() - 1]) != name.npos;
}

std::uint64_t pairs_of(std::uint64_t count) { return count * (count - 1) / 2; }

}  // namespace

bool TellingArguments::Seen::is_name() const {
  if (is_seed(name)) return true;
  return !is_real && runs >= kRunsOfNames && values.size() + others == runs;
}

void TellingArguments::add(std::string_view experiment,
                           std::span<const store::Argument> arguments) {
  const auto count_in = [&](auto& counts) {
    const auto known = counts.find(experiment);
    ++(known == counts.end() ? counts.emplace(experiment, 0).first : known)->second;
  };
  count_in(runs_);
  for (const store::Argument& argument : arguments) {
    const auto [at, added] = index_.emplace(argument.name, seen_.size());
    if (added) seen_.emplace_back().name = argument.name;
    Seen& seen = seen_[at->second];
    ++seen.runs;
    count_in(seen.having);
    seen.is_text = seen.is_text || argument.type == "text";
    seen.is_real = seen.is_real || argument.type == "real";
    const auto known = seen.values.find(argument.value);
    if (known != seen.values.end()) {
      ++known->second;
      continue;
    }
    seen.widest = std::max(seen.widest, display_width(printable(argument.value)));
    if (seen.values.size() < kValuesMax) {
      seen.values.emplace(argument.value, 1);
    } else {
      ++seen.others;
    }
  }
}

double TellingArguments::pairs(const Seen& seen) const {
  std::uint64_t different = pairs_of(seen.runs);
  for (const auto& [value, runs] : seen.values) different -= pairs_of(runs);
  for (const auto& [experiment, having] : seen.having) {
    different += having * (runs_.find(experiment)->second - having);
  }
  return static_cast<double>(different);
}

std::vector<TellingArguments::Argument> TellingArguments::ranked() const {
  struct Rank {
    const Seen* seen;
    bool comes_late;
    double pairs;
  };
  std::vector<Rank> ranks;
  for (const Seen& seen : seen_) {
    const double pairs = this->pairs(seen);
    ranks.push_back({&seen, pairs > 0 && seen.is_name(), pairs});
  }
  std::ranges::stable_sort(ranks, [](const Rank& a, const Rank& b) {
    if ((a.pairs > 0) != (b.pairs > 0)) return a.pairs > 0;
    if (a.comes_late != b.comes_late) return b.comes_late;
    return a.pairs > b.pairs;
  });
  std::vector<Argument> result;
  for (const Rank& rank : ranks) {
    result.push_back({rank.seen->name, rank.seen->is_text, rank.seen->widest, rank.pairs > 0});
  }
  return result;
}

std::vector<TellingArguments::Argument> TellingArguments::telling() const {
  std::vector<Argument> result = ranked();
  std::erase_if(result, [](const Argument& argument) { return !argument.tells; });
  return result;
}

std::string argument_title(std::string_view name) {
  return (builtin_column(name) ? "arg:" : "") + std::string(name);
}

}  // namespace flor::cli
