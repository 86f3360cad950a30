#include "choose/run_groups.h"

#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/telling_arguments.h"
#include "output/terminal_text.h"
#include "shell/command.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace flor::cli {
namespace {

constexpr std::string_view kArgument = "arg:";
constexpr std::array<std::string_view, 4> kWords{"experiment", "tag", "commit", "status"};

bool is_word(std::string_view name) { return std::ranges::find(kWords, name) != kWords.end(); }

/// Splits "A,B" into names. An argument may be written as "arg:A".
std::vector<std::string> names_of_keys(const std::vector<std::string>& texts,
                                       std::string_view option) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    for (std::size_t from = 0, to = 0; to != text.npos; from = to + 1) {
      to = text.find(',', from);
      const std::string name = text.substr(from, to == text.npos ? to : to - from);
      if (name.empty()) {
        throw UsageError(fmt::format("{} '{}' names nothing: give an argument, as {} seed", option,
                                     printable(text), option));
      }
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

class Grouping {
 public:
  Grouping(const store::Catalog& catalog, std::span<const store::Run> runs) : runs_(runs) {
    for (const store::Run& run : runs) {
      arguments_.push_back(catalog.arguments(run.id));
      seen_.add(run.start.experiment, arguments_.back());
    }
  }

  std::vector<RunGroup> by(const std::vector<std::string>& names) {
    for (const std::string& name : names) require(name);
    std::map<std::vector<std::optional<std::string>>, RunGroup> groups;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      std::vector<std::vector<GroupKey>> all{{}};  // several if the run has several tags
      for (const std::string& name : names) {
        std::vector<std::vector<GroupKey>> longer;
        for (const GroupKey& key : keys(name, run)) {
          for (std::vector<GroupKey> begun : all) {
            begun.push_back(key);
            longer.push_back(std::move(begun));
          }
        }
        all = std::move(longer);
      }
      for (std::vector<GroupKey>& one : all) {
        std::vector<std::optional<std::string>> values;
        for (const GroupKey& key : one) values.push_back(key.value);
        RunGroup& group = groups[values];
        group.keys = std::move(one);
        group.runs.push_back(runs_[run]);
      }
    }
    std::vector<RunGroup> result;
    for (auto& [values, group] : groups) result.push_back(std::move(group));
    std::ranges::stable_sort(result, comes_before);
    return result;
  }

  /// The arguments, experiments and versions, except `names`, in which the runs differ.
  std::vector<std::string> others(const std::vector<std::string>& names) {
    for (const std::string& name : names) require(name);
    const auto is_named = [&](const std::string& name) {
      return std::ranges::any_of(names, [&](const std::string& one) {
        return one == name || (!is_word(one) && argument_of(one) == argument_of(name));
      });
    };
    std::vector<std::string> result;
    for (const std::string_view word :
         {std::string_view("experiment"), std::string_view("commit")}) {
      std::set<std::optional<std::string>> values;
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        values.insert(keys(std::string(word), run).front().value);
      }
      if (values.size() > 1 && !is_named(std::string(word))) result.emplace_back(word);
    }
    for (const auto& argument : seen_.telling()) {
      const std::string name = fmt::format("{}{}", kArgument, argument.name);
      if (!is_named(name)) result.push_back(name);
    }
    return result;
  }

 private:
  /// The name of the argument that is meant; empty for a word such as `tag`.
  static std::string argument_of(std::string_view name) {
    if (is_word(name)) return {};
    return std::string(name.starts_with(kArgument) ? name.substr(kArgument.size()) : name);
  }

  void require(const std::string& name) const {
    if (is_word(name)) return;
    const std::string wanted = argument_of(name);
    std::vector<std::string> known;
    for (const auto& argument : seen_.ranked()) known.push_back(argument.name);
    if (std::ranges::find(known, wanted) != known.end()) return;
    known.insert(known.end(), kWords.begin(), kWords.end());
    std::string hint = did_you_mean(wanted, known);
    if (hint.empty()) hint = fmt::format(": use one of {}", fmt::join(known, ", "));
    throw NotFound(fmt::format("{} no argument '{}'{}",
                               runs_.size() == 1 ? "this run has" : "these runs have",
                               printable(wanted), printable(hint)));
  }

  std::vector<GroupKey> keys(const std::string& name, std::size_t index) const {
    const store::Run& run = runs_[index];
    if (name == "experiment") return {{name, run.start.experiment}};
    if (name == "commit") {
      if (run.start.commit.empty()) return {{name}};
      return {{name, run.start.commit}};
    }
    if (name == "status") return {{name, std::string(store::to_string(run.state))}};
    if (name == "tag") {
      std::vector<GroupKey> result;
      for (const std::string& tag : run.tags) result.push_back({name, tag});
      if (result.empty()) result.push_back({name});
      return result;
    }
    const std::string wanted = argument_of(name);
    for (const store::Argument& argument : arguments_[index]) {
      if (argument.name == wanted) return {{wanted, argument.value, argument.type}};
    }
    return {{wanted}};
  }

  static bool comes_before(const RunGroup& a, const RunGroup& b) {
    const auto field = [](const GroupKey& key) {
      const std::string text = key.value.value_or("");
      return Field{text, as_number(text), {}};
    };
    for (std::size_t i = 0; i < a.keys.size(); ++i) {
      const Field left = field(a.keys[i]), right = field(b.keys[i]);
      if (sorts_before(left, right, false)) return true;
      if (sorts_before(right, left, false)) return false;
    }
    return false;
  }

  std::span<const store::Run> runs_;
  std::vector<std::vector<store::Argument>> arguments_;
  TellingArguments seen_;
};

}  // namespace

void GroupWish::declare(Syntax& syntax) {
  syntax.option("--group-by", "KEY", by,
                "group runs that have the same KEY: an argument, tag, experiment, ...");
  syntax.option("--over", "KEY", over,
                "group runs that differ in nothing but KEY, as --over seed");
}

std::string GroupKey::shown() const {
  if (!value) return "-";
  if (value->empty()) return "''";
  return name == "commit" ? short_commit(*value) : *value;
}

std::string RunGroup::label() const {
  std::string text;
  for (const GroupKey& key : keys) text += fmt::format("{}={} ", key.name, key.shown());
  const std::string size = counted(static_cast<std::int64_t>(runs.size()), "run");
  return printable(keys.empty() ? size : fmt::format("{}({})", text, size));
}

std::vector<RunGroup> group_runs(const store::Catalog& catalog, std::span<const store::Run> runs,
                                 const GroupWish& wish) {
  if (!wish.by.empty() && !wish.over.empty()) {
    throw UsageError("--group-by and --over exclude each other: give one of them");
  }
  const bool is_by = !wish.by.empty();
  const auto names = names_of_keys(is_by ? wish.by : wish.over, is_by ? "--group-by" : "--over");
  Grouping grouping(catalog, runs);
  return grouping.by(is_by ? names : grouping.others(names));
}

std::string lone_runs(std::span<const RunGroup> groups, const GroupWish& wish) {
  const auto is_lone = [](const RunGroup& group) { return group.runs.size() == 1; };
  if (wish.over.empty() || groups.size() < 2 || !std::ranges::all_of(groups, is_lone)) return {};
  std::string more;
  for (const GroupKey& key : groups.front().keys) more += "," + key.name;
  return fmt::format("no two runs differ in nothing but {0}: --over {0}{1} takes all together",
                     printable(fmt::format("{}", fmt::join(wish.over, ","))), printable(more));
}

}  // namespace flor::cli
