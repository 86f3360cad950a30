// flor extract: makes metrics from the text that a run printed.
#include "choose/pattern.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "protocol/printed_tape.h"
#include "shell/context.h"
#include "view/printed_lines.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

namespace flor::cli {
namespace {

/// The number if the whole text is one, else nullopt.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

/// The name before the group of a pattern: "loss" in `loss=(...)`, `loss: (...)` and `"loss":
/// (...)`.
std::string name_in(std::string_view pattern) {
  const std::size_t group = pattern.find('(');
  std::string_view before = pattern.substr(0, std::min(group, pattern.size()));
  const auto is_letter = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '/' || c == '-';
  };
  for (const std::string_view end : {"\\s*", "\\s+", "\\s", " *", " "}) {
    if (before.ends_with(end)) before.remove_suffix(end.size());
  }
  while (!before.empty() && !is_letter(static_cast<unsigned char>(before.back()))) {
    before.remove_suffix(1);
  }
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(static_cast<unsigned char>(before[begin - 1]))) --begin;
  // The letter of an escape such as \d does not belong to a name.
  if (begin > 0 && before[begin - 1] == '\\') ++begin;
  return begin < before.size() ? std::string(before.substr(begin)) : std::string();
}

class Extraction final : public Command {
 public:
  std::string_view name() const override { return "extract"; }
  std::string_view summary() const override {
    return "make a metric of numbers that a run printed";
  }
  std::string_view lesson() const override {
    return R"(REGEX is searched for in every line that the run printed. The number in its first brackets becomes
a value at the place where the line was printed: its loop and epoch, and the order there. The
values are like those that a replay found, and verified, since the run itself printed them. The
same command again changes nothing.

Examples:
  flor extract linear 'loss=(\d+\.\d+)'                     the metric is called loss
  flor extract linear 'in (\S+) s' --name seconds           a name of your own
  flor query loss --run linear                              the values
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "the run", true);
    syntax.operand("REGEX", regex_, "the text to find, with brackets around the number", true);
    syntax.option("--name", "NAME", name_,
                  "name the metric (default: the word before the brackets)");
  }
  int run(Context& context) override;

 private:
  std::vector<store::Value> find(const std::vector<PrintedLine>& lines) const;
  store::NewReplay question_about(const store::Run& run, std::int64_t now_us) const;

  std::string run_, regex_, name_;
};

std::vector<store::Value> Extraction::find(const std::vector<PrintedLine>& lines) const {
  const Pattern pattern("REGEX", regex_);
  if (!pattern.has_group()) {
    throw UsageError(
        fmt::format("REGEX '{}' has no brackets: put them around the number, as in "
                    "'loss=(\\d+\\.\\d+)'",
                    printable(regex_)));
  }
  std::vector<std::string> texts;
  std::vector<store::Value> values;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> ordinals;
  bool are_integers = true;
  for (const PrintedLine& line : lines) {
    if (line.is_gap()) continue;
    std::size_t from = 0;
    while (const auto group = pattern.group_in(line.text, from)) {
      const std::string text = line.text.substr(group->begin, group->end - group->begin);
      const auto real = number_of<double>(text);
      if (!real) {
        throw UsageError(fmt::format("REGEX '{}' finds '{}' in '{}', which is no number",
                                     printable(regex_), printable(text),
                                     shortened(printable(line.text), 60)));
      }
      are_integers = are_integers && number_of<std::int64_t>(text);
      texts.push_back(text);
      values.push_back({.name = name_,
                        .place = line.place,
                        .ordinal = ordinals[{line.place.epoch, line.place.path}]++,
                        .type = store::ValueType::real,
                        .value = *real});
      from = std::max(group->match_end, from + 1);
    }
  }
  for (std::size_t i = 0; are_integers && i < values.size(); ++i) {
    values[i].type = store::ValueType::integer;
    values[i].value = *number_of<std::int64_t>(texts[i]);
  }
  return values;
}

store::NewReplay Extraction::question_about(const store::Run& run, std::int64_t now_us) const {
  return {.run = run.id,
          .started_us = now_us,
          .first_epoch = 0,
          .last_epoch = run.epochs - 1,
          .probes = "(printed)",
          .program_digest = {},
          .command = store::RecordedCommand({"flor", "extract", regex_, "--name", name_}),
          .question = fmt::format("printed\n{}\n{}", name_, regex_)};
}

/// The parts of the run that have values, with the number of values.
std::vector<store::ReplayedPart> parts_of(const std::vector<store::Value>& values) {
  std::map<std::int64_t, store::ReplayedPart> parts;
  for (const store::Value& value : values) {
    store::ReplayedPart& part = parts[value.place.epoch];
    part.part =
        value.place.epoch;  // -1 outside of the loops, which is also the number of the first part
                            // outside of loops
    part.result.verdict = store::Verdict::verified;
    part.found = store::ValueVerdict::verified;
    ++part.result.values_found;
  }
  std::vector<store::ReplayedPart> result;
  for (const auto& [epoch, part] : parts) result.push_back(part);
  return result;
}

bool are_known(const store::Catalog& catalog, const store::Run& run,
               const std::vector<store::Value>& values) {
  std::vector<store::Value> known =
      catalog.values({.run = run.id, .names = {values.front().name}, .recorded = false});
  const auto key = [](const store::Value& value) {
    return std::tie(value.place.epoch, value.place.path, value.ordinal, value.value);
  };
  std::vector<store::Value> wanted = values;
  const auto before = [&](const auto& a, const auto& b) { return key(a) < key(b); };
  std::ranges::sort(known, before);
  std::ranges::sort(wanted, before);
  return std::ranges::equal(known, wanted,
                            [&](const auto& a, const auto& b) { return key(a) == key(b); });
}

int Extraction::run(Context& context) {
  const store::Run run = parse_whole_run(context, run_);
  if (run.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is being recorded: extract when it has ended", title(run)));
  }
  if (name_.empty()) name_ = name_in(regex_);
  if (name_.empty()) {
    throw UsageError(
        fmt::format("REGEX '{}' has no word before its brackets: name the metric, "
                    "--name NAME",
                    printable(regex_)));
  }
  const std::vector<store::Value> found =
      find(lines_of(detail::all_printed(context.catalog(), context.store().home(), run)));
  if (found.empty()) {
    throw NotFound(
        fmt::format("run {} printed no line with a match of '{}': flor show {} --printed "
                    "shows what it printed",
                    title(run), printable(regex_), short_key(run)));
  }
  for (const store::MetricSummary& metric : context.catalog().metrics(run.id)) {
    if (metric.name != name_ || metric.hindsight) continue;
    throw UsageError(
        fmt::format("run {} has a metric '{}' of its own: name this one, --name NAME", title(run),
                    printable(name_)));
  }
  const bool known = are_known(context.catalog(), run, found);
  if (!known) {
    store::Catalog& catalog = context.store_to_change().catalog();
    const std::int64_t replay = catalog.add_replay(question_about(run, context.now_us()));
    std::vector<store::Value> values = found;
    for (store::Value& value : values) value.replay = replay;
    catalog.add_replayed(run.id, replay, values, parts_of(values));
    catalog.finish_replay(replay, {.finished_us = context.now_us(),
                                   .verdict = store::Verdict::verified,
                                   .values_found = static_cast<std::int64_t>(values.size()),
                                   .first_difference = {}});
  }
  if (context.json()) {
    Json result = document("extract");
    result["run"] = run.key;
    result["metric"] = name_;
    result["values"] = found.size();
    result["new"] = !known;
    print(context.out(), result);
  } else {
    context.out().write(fmt::format("run {}: {} of {}, {}\n", title(run),
                                    counted(static_cast<std::int64_t>(found.size()), "value"),
                                    printable(name_), known ? "known already" : "verified"));
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_extract() { return std::make_unique<Extraction>(); }

}  // namespace flor::cli
