// flor diff: compares two runs.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "shell/context.h"
#include "view/run_json.h"
#include "view/sources.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>

namespace flor::cli {
namespace {

/// A fact that one or both runs have, as text.
struct Pair {
  std::string name;
  std::optional<std::string> a, b;
  std::string shown_a, shown_b;
  bool is_object = false;  ///< too long to show: only its shape is shown, and whether it differs
  bool differs() const { return a != b; }
  bool told_apart() const { return is_object || !a || !b || shown_a != shown_b; }
};

/// Pairs in the order of the first run, followed by those that only the second run has. Compares
/// the exact `text`; `shown` is displayed if it makes the difference visible.
class Pairs {
 public:
  void put(bool second, const std::string& name, std::string text) {
    put(second, name, text, text);
  }
  void put(bool second, const std::string& name, std::string text, std::string shown,
           bool is_object = false) {
    const auto [place, added] = index_.emplace(name, pairs_.size());
    if (added) pairs_.emplace_back().name = name;
    Pair& pair = pairs_[place->second];
    pair.is_object |= is_object;
    (second ? pair.b : pair.a) = std::move(text);
    (second ? pair.shown_b : pair.shown_a) = std::move(shown);
  }
  const std::vector<Pair>& all() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
  std::map<std::string, std::size_t> index_;
};

struct Side {
  store::Run run;
  std::vector<store::Argument> arguments;
  std::vector<store::MetricSummary> metrics;
};

class Diff final : public Command {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view summary() const override { return "compare two runs"; }
  std::string_view lesson() const override {
    return R"(Compares arguments, last values of the metrics, environment and sources; what is equal is left out.

Examples:
  flor diff linear~1 linear          the last two runs of an experiment
  flor diff 3f2a 9c41 --patch        with the sources, line by line
  flor diff linear~1 linear --json   all of it, equal or not
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("A", first_, "a run", true);
    syntax.operand("B", second_, "another one", true);
    syntax.flag("-p,--patch", patch_, "show what changed in the sources, line by line");
    syntax.option("-U,--context", "N", context_lines_,
                  "show N lines around a change, with --patch (default 3)");
    syntax.other_name("--code", "use --patch");
  }
  int run(Context& context) override;

 private:
  Side side(Context& context, const std::string& text) const;
  SourceChange sources(Context& context, const Side& a, const Side& b) const;
  void print_text(Context& context, const Side& a, const Side& b) const;
  void print_sources(Context& context, const Side& a, const Side& b) const;
  void print_json(Context& context, const Side& a, const Side& b) const;

  std::string first_, second_;
  bool patch_ = false;
  std::optional<std::uint64_t> context_lines_;
};

Side Diff::side(Context& context, const std::string& text) const {
  const store::Catalog& catalog = context.catalog();
  Side result{parse_whole_run(context, text), {}, {}};
  result.arguments = catalog.arguments(result.run.id);
  result.metrics = catalog.metrics(result.run.id);
  return result;
}

Pairs runs_of(const Side& a, const Side& b) {
  Pairs pairs;
  for (const bool second : {false, true}) {
    const store::Run& run = second ? b.run : a.run;
    pairs.put(second, "experiment", run.start.experiment);
    pairs.put(second, "status", std::string(store::to_string(run.state)));
    pairs.put(second, "epochs", fmt::format("{}", run.epochs));
    pairs.put(second, "commit", short_commit(run.start.commit));
    pairs.put(second, "directory", run.start.directory);
    pairs.put(second, "command", run.start.command.text());
  }
  return pairs;
}

Pairs arguments_of(const Side& a, const Side& b) {
  Pairs pairs;
  for (const auto& argument : a.arguments) pairs.put(false, argument.name, argument.value);
  for (const auto& argument : b.arguments) pairs.put(true, argument.name, argument.value);
  return pairs;
}

bool is_object(store::ValueType type) {
  using store::ValueType;
  return type == ValueType::tensor || type == ValueType::histogram || type == ValueType::image ||
         type == ValueType::table;
}

/// The metrics of both runs, compared with all digits: values that look alike may differ.
Pairs metrics_of(const Side& a, const Side& b) {
  Pairs pairs;
  for (const bool second : {false, true}) {
    for (const auto& metric : (second ? b : a).metrics) {
      pairs.put(second, metric.name, exact(metric.type, metric.last),
                readable(metric.type, metric.last), is_object(metric.type));
    }
  }
  return pairs;
}

Pairs environment_of(const Side& a, const Side& b) {
  Pairs pairs;
  for (const auto& [name, value] : a.run.start.environment) pairs.put(false, name, value);
  for (const auto& [name, value] : b.run.start.environment) pairs.put(true, name, value);
  return pairs;
}

/// The difference of the two values, if both are numbers.
std::string change_of(const Side& a, const Side& b, const std::string& name) {
  const auto value = [&](const Side& side) -> std::optional<double> {
    const auto metric = std::ranges::find(side.metrics, name, &store::MetricSummary::name);
    if (metric == side.metrics.end()) return std::nullopt;
    return number(metric->type, metric->last);
  };
  const auto from = value(a), to = value(b);
  return from && to ? fmt::format("{:+.3g}", *to - *from) : std::string();
}

/// A cell for the table. Shortens long values, which would push the names out of sight.
std::string cell(const std::optional<std::string>& text) {
  constexpr std::size_t kWidthMax = 48;
  return text ? shortened(printable(*text), kWidthMax) : "-";
}

void print_section(Context& context, std::string_view title, const Pairs& pairs, const Side& a,
                   const Side& b, bool numbers) {
  const Align align = numbers ? Align::right : Align::left;
  std::vector<Table::Column> columns{
      {std::string(title)}, {short_key(a.run), align}, {short_key(b.run), align}};
  if (numbers) columns.push_back({"change", Align::right});
  Table table(std::move(columns));
  std::size_t equal = 0;
  for (const Pair& pair : pairs.all()) {
    if (!pair.differs()) {
      ++equal;
      continue;
    }
    table.add(pair.name);
    const bool shown = pair.told_apart();
    table.add(cell(shown && pair.a ? pair.shown_a : pair.a), Tone::bad);
    table.add(cell(shown && pair.b ? pair.shown_b : pair.b), Tone::good);
    const bool differs = pair.is_object && pair.a && pair.b;
    if (numbers) table.add(differs ? "differs" : change_of(a, b, pair.name));
  }
  if (table.empty()) {
    const std::string what = equal == 0 ? "none" : fmt::format("equal ({})", equal);
    context.out().write(
        fmt::format("{}  {}\n\n", context.style().paint(Tone::strong, title), what));
    return;
  }
  table.print(context.out(), context.style());
  if (equal > 0) context.out().write(fmt::format("and {} equal\n", equal));
  context.out().write("\n");
}

SourceChange Diff::sources(Context& context, const Side& a, const Side& b) const {
  constexpr std::uint64_t kAll = 1'000'000;
  std::optional<int> lines;
  if (patch_) lines = static_cast<int>(std::min(context_lines_.value_or(3), kAll));
  Sources sources(context);
  return source_change(sources, b.run, a.run.start.commit, b.run.start.commit, lines);
}

void Diff::print_sources(Context& context, const Side& a, const Side& b) const {
  const SourceChange code = sources(context, a, b);
  Output& out = context.out();
  out.write(context.style().paint(Tone::strong, "sources"));
  if (!code.known) {
    out.write("  unknown\n");
    return;
  }
  out.write(code.changes.empty() ? std::string("  equal\n")
                                 : "  " + change_summary(code.changes) + "\n");
  changes_table(code.changes).print(out, context.style());
  if (patch_ && !code.changes.empty()) {
    out.write("\n");
    print_patch(context, code.patch);
  }
}

void Diff::print_text(Context& context, const Side& a, const Side& b) const {
  print_section(context, "run", runs_of(a, b), a, b, false);
  print_section(context, "arguments", arguments_of(a, b), a, b, false);
  print_section(context, "metrics", metrics_of(a, b), a, b, true);
  print_section(context, "environment", environment_of(a, b), a, b, false);
  print_sources(context, a, b);
}

/// Compares two objects: {"name": {"a", "b", "equal"}, ...}.
Json pairs_json(const Json& a, const Json& b) {
  Json result = Json::object();
  const auto put = [&](const std::string& name) {
    if (result.contains(name)) return;
    const Json first = a.contains(name) ? a[name] : Json(nullptr);
    const Json second = b.contains(name) ? b[name] : Json(nullptr);
    const bool equal = a.contains(name) == b.contains(name) && first == second;
    result[name] = {{"a", first}, {"b", second}, {"equal", equal}};
  };
  for (const auto& item : a.items()) put(item.key());
  for (const auto& item : b.items()) put(item.key());
  return result;
}

Json last_values_json(const Side& side) {
  Json result = Json::object();
  for (const auto& metric : side.metrics) result[metric.name] = to_json(metric.type, metric.last);
  return result;
}

void Diff::print_json(Context& context, const Side& a, const Side& b) const {
  Json result = document("diff");
  result["a"] = run_json(a.run);
  result["b"] = run_json(b.run);
  result["arguments"] = pairs_json(arguments_json(a.arguments), arguments_json(b.arguments));
  result["metrics"] = pairs_json(last_values_json(a), last_values_json(b));
  result["environment"] = pairs_json(Json(a.run.start.environment), Json(b.run.start.environment));
  const SourceChange code = sources(context, a, b);
  result["sources"] = {{"known", code.known},
                       {"equal", code.known ? Json(code.changes.empty()) : Json(nullptr)},
                       {"changes", code.known ? changes_json(code.changes) : Json(nullptr)}};
  if (patch_) result["sources"]["patch"] = code.known ? Json(code.patch) : Json(nullptr);
  print(context.out(), result);
}

int Diff::run(Context& context) {
  const Side a = side(context, first_), b = side(context, second_);
  if (context.json()) {
    print_json(context, a, b);
  } else {
    print_text(context, a, b);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_diff() { return std::make_unique<Diff>(); }

}  // namespace flor::cli
