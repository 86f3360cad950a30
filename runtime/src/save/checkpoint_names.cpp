#include "save/checkpoint_names.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace flor::detail {
namespace {

constexpr std::string_view kForced = "_force";

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

CheckpointNames::CheckpointNames(std::string name) : name_(std::move(name)) {
  if (name_.empty() || name_.starts_with('.') || name_.find('/') != std::string::npos ||
      name_.size() > 150) {
    throw Error(
        fmt::format("'{}' cannot be the name of a saver: use a file name without a slash "
                    "that does not begin with a dot",
                    name_));
  }
}

std::string CheckpointNames::complete(const CheckpointName& checkpoint) const {
  return fmt::format("{}_checkpoint_{}{}", name_, checkpoint.index,
                     checkpoint.forced ? kForced : std::string_view());
}

std::optional<CheckpointName> CheckpointNames::parse_complete(std::string_view file) const {
  const std::string prefix = name_ + "_checkpoint_";
  if (!file.starts_with(prefix)) return std::nullopt;
  std::string_view rest = file.substr(prefix.size());
  CheckpointName found;
  found.forced = rest.ends_with(kForced);
  if (found.forced) rest.remove_suffix(kForced.size());
  if (!is_digits(rest) || rest.size() > 18) return std::nullopt;
  std::from_chars(rest.data(), rest.data() + rest.size(), found.index);
  return found;
}

bool CheckpointNames::is_leftover(std::string_view file) const {
  const std::string prefix = "." + name_ + ".checkpoint.";
  if (!file.starts_with(prefix)) return false;
  file.remove_prefix(prefix.size());
  for (const std::string_view kind : {".partial", ".removed", ".link"}) {
    if (file.ends_with(kind)) return is_digits(file.substr(0, file.size() - kind.size()));
  }
  return false;
}

}  // namespace flor::detail
