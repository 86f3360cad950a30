#include "protocol/overrides.h"

#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace flor::detail {
namespace {

/// In lower case, with underscores.
constexpr std::array<std::string_view, 24> kOverridable = {
    "cache_dir",   "cuda",      "data",        "data_dir", "data_path",  "data_root",
    "dataset_dir", "device",    "device_id",   "devices",  "gpu",        "gpus",
    "log_dir",     "log_level", "num_workers", "out_dir",  "output_dir", "pin_memory",
    "prefetch",    "progress",  "quiet",       "tmp_dir",  "verbose",    "workers"};

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-') {
      text += '_';
    } else if (c != ' ' && c != '\t') {
      text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return text;
}

}  // namespace

std::string Instead::shown_arguments() const {
  std::vector<std::string> words;
  for (const auto& [name, value] : arguments) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

bool is_overridable(std::string_view name, std::string_view more) {
  const std::string wanted = plain(name);
  if (wanted.empty()) return false;
  if (std::ranges::find(kOverridable, wanted) != kOverridable.end()) return true;
  while (!more.empty()) {
    const std::size_t end = std::min(more.find(','), more.size());
    if (plain(more.substr(0, end)) == wanted) return true;
    more.remove_prefix(std::min(end + 1, more.size()));
  }
  return false;
}

void check_overrides(const store::Catalog& catalog, const store::Run& run, const Instead& instead,
                     std::string_view more) {
  if (instead.arguments.empty()) return;
  const std::vector<store::Argument> recorded = catalog.arguments(run.id);
  for (const auto& [name, value] : instead.arguments) {
    const auto found = std::ranges::find(recorded, name, &store::Argument::name);
    if (found == recorded.end()) {
      std::vector<std::string> names;
      for (const store::Argument& argument : recorded) names.push_back(argument.name);
      throw UsageError(fmt::format(
          "the run recorded no argument '{}'{}", name,
          names.empty() ? std::string() : fmt::format(": it has {}", fmt::join(names, ", "))));
    }
    if (found->is_secret()) {
      throw UsageError(fmt::format(
          "argument '{}' is a secret: --kwargs {}=VALUE gives it to a replay", name, name));
    }
    if (store::masked_value(name, value) != value) {
      throw UsageError(fmt::format(
          "argument '{}': the value has a secret, which would be kept in the store: leave it out",
          name));
    }
    if (!is_overridable(name, more)) {
      throw UsageError(fmt::format(
          "argument '{}' may decide the results, so a replay keeps {}: to train with another "
          "value, --flor NAME --flor_from {} --kwargs {}={}; if it only says where or how fast to "
          "compute, add it to the setting overridable",
          name, found->value, run.key.substr(0, 8), name, value));
    }
  }
}

}  // namespace flor::detail
