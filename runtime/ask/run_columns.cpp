// The facts that a listing has of a run, and the columns in which it shows them.
#include "ask/run_columns.h"

#include "ask/runs.h"
#include "ask/time.h"
#include "ask/words.h"
#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace flor::ask {
namespace {

using store::MetricSummary;
using store::Run;

constexpr std::size_t kMetricsInCell = 4;

Field text_field(std::string text) { return {std::move(text), std::nullopt, Tone::plain}; }

Field count_field(std::int64_t count) {
  return {std::to_string(count), static_cast<double>(count), Tone::plain};
}

Field bytes_field(std::uint64_t count) { return {bytes(count), static_cast<double>(count), {}}; }

Field duration_field(const Run& run) {
  if (!run.finished_us) return {};
  const double seconds = static_cast<double>(*run.finished_us - run.start.started_us) * 1e-6;
  return {duration(seconds), seconds, Tone::plain};
}

Field metrics_field(const ListedRun& facts) {
  std::string text;
  std::size_t shown = 0, left = 0;
  for (const MetricSummary& metric : facts.metrics) {
    if (metric.type > store::ValueType::text || metric.doubtful) continue;
    if (shown == kMetricsInCell) {
      ++left;
      continue;
    }
    if (shown++ > 0) text += ' ';
    text += metric.name;
    text += '=';
    text += readable(metric.type, metric.last);
  }
  if (left) text += fmt::format(" and {} more", left);
  return text_field(std::move(text));
}

using Extract = Field (*)(const ListedRun&, std::int64_t);

struct Builtin {
  const char* name;
  Align align;
  Extract field;
};

constexpr Align kLeft = Align::left, kRight = Align::right;

const std::array kBuiltins = {
    Builtin{"run", kLeft,
            [](const ListedRun& f, std::int64_t) { return text_field(short_key(f.run)); }},
    Builtin{"experiment", kLeft,
            [](const ListedRun& f, std::int64_t) { return text_field(f.run.start.experiment); }},
    Builtin{"when", kLeft,
            [](const ListedRun& f, std::int64_t now) {
              const std::int64_t time = f.run.start.started_us;
              return Field{relative(time, now), static_cast<double>(time), Tone::plain};
            }},
    Builtin{"status", kLeft,
            [](const ListedRun& f, std::int64_t) {
              return Field{status_text(f.run), std::nullopt, status_tone(f.run)};
            }},
    Builtin{"commit", kLeft,
            [](const ListedRun& f, std::int64_t) {
              return text_field(short_commit(f.run.start.commit));
            }},
    Builtin{"epochs", kRight,
            [](const ListedRun& f, std::int64_t) { return count_field(f.run.epochs); }},
    Builtin{"size", kRight,
            [](const ListedRun& f, std::int64_t) { return bytes_field(f.run.stored_bytes); }},
    Builtin{"raw", kRight,
            [](const ListedRun& f, std::int64_t) { return bytes_field(f.run.raw_bytes); }},
    Builtin{"checkpoints", kRight,
            [](const ListedRun& f, std::int64_t) { return count_field(f.run.checkpoints); }},
    Builtin{"duration", kRight,
            [](const ListedRun& f, std::int64_t) { return duration_field(f.run); }},
    Builtin{"directory", kLeft,
            [](const ListedRun& f, std::int64_t) { return text_field(f.run.start.directory); }},
    Builtin{"message", kLeft,
            [](const ListedRun& f, std::int64_t) { return text_field(f.run.message); }},
    Builtin{"rank", kRight,
            [](const ListedRun& f, std::int64_t) {
              return f.run.start.rank ? count_field(f.run.start.rank->rank) : Field{};
            }},
    Builtin{"ranks", kRight,
            [](const ListedRun& f, std::int64_t) {
              return f.run.start.rank ? count_field(f.run.start.rank->world) : Field{};
            }},
    Builtin{"metrics", kLeft, [](const ListedRun& f, std::int64_t) { return metrics_field(f); }},
};

/// The maker of the column "tag" or "note"; null for other names.
RunColumn (*label_column(std::string_view name))() {
  if (name == "tag") return tag_column;
  return name == "note" ? note_column : nullptr;
}

enum class Aggregate { last, minimum, maximum, count };

/// Meanings of the name of a column that is not built in, in order of precedence.
struct Meaning {
  std::string metric = {};  ///< the metric of this name; empty: none
  std::string aggregated = {};
  Aggregate aggregate = Aggregate::last;  ///< of the metric `aggregated`
  std::string argument = {};
};

std::optional<Aggregate> parse_aggregate(std::string_view text) {
  if (text == "last") return Aggregate::last;
  if (text == "min") return Aggregate::minimum;
  if (text == "max") return Aggregate::maximum;
  if (text == "count") return Aggregate::count;
  return std::nullopt;
}

Meaning meaning_of(std::string_view name) {
  constexpr std::string_view kArgument = "arg:", kMetric = "metric:";
  if (name.starts_with(kArgument)) return {.argument = std::string(name.substr(kArgument.size()))};
  const bool only_metric = name.starts_with(kMetric);
  if (only_metric) name.remove_prefix(kMetric.size());
  Meaning meaning{.metric = std::string(name)};
  if (!only_metric) meaning.argument = name;
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return meaning;
  // The whole name has precedence, because a metric may be called "loss:min".
  if (const auto aggregate = parse_aggregate(name.substr(colon + 1))) {
    meaning.aggregated = name.substr(0, colon);
    meaning.aggregate = *aggregate;
  }
  return meaning;
}

const MetricSummary* find_metric(const ListedRun& facts, const std::string& name) {
  const auto metric = std::ranges::find(facts.metrics, name, &MetricSummary::name);
  return metric == facts.metrics.end() || name.empty() ? nullptr : &*metric;
}

const store::Argument* find_argument(const ListedRun& facts, const std::string& name) {
  const auto argument = std::ranges::find(facts.arguments, name, &store::Argument::name);
  return argument == facts.arguments.end() || name.empty() ? nullptr : &*argument;
}

Field metric_field(const MetricSummary& metric, Aggregate aggregate) {
  if (aggregate == Aggregate::count) return count_field(metric.count);
  if (aggregate == Aggregate::last) {
    return {readable(metric.type, metric.last), number(metric.type, metric.last), Tone::plain};
  }
  const double value = aggregate == Aggregate::minimum ? metric.minimum : metric.maximum;
  // Only numbers have a minimum and a maximum.
  if (std::isnan(value)) return {};
  return {readable(value), value, Tone::plain};
}

Field named_field(const ListedRun& facts, const Meaning& meaning) {
  if (const auto* metric = find_metric(facts, meaning.metric)) {
    return metric_field(*metric, Aggregate::last);
  }
  if (const auto* metric = find_metric(facts, meaning.aggregated)) {
    return metric_field(*metric, meaning.aggregate);
  }
  if (const auto* argument = find_argument(facts, meaning.argument)) {
    return {argument->value, as_number(argument->value), Tone::plain};
  }
  return {};
}

store::NumberTest::Of of_aggregate(Aggregate aggregate) {
  using Of = store::NumberTest::Of;
  switch (aggregate) {
    case Aggregate::last:
      return Of::last;
    case Aggregate::minimum:
      return Of::minimum;
    case Aggregate::maximum:
      return Of::maximum;
    case Aggregate::count:
      break;
  }
  return Of::any;
}

bool has_any(const ListedRun& facts, const Meaning& meaning) {
  return find_metric(facts, meaning.metric) || find_metric(facts, meaning.aggregated) ||
         find_argument(facts, meaning.argument);
}

[[noreturn]] void unknown_column(std::string_view name, std::span<const ListedRun> runs) {
  std::vector<std::string> known = builtin_column_names();
  known.insert(known.end(), {"tag", "note"});
  for (const ListedRun& facts : runs) {
    for (const MetricSummary& metric : facts.metrics) known.push_back(metric.name);
    for (const store::Argument& argument : facts.arguments) known.push_back(argument.name);
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const std::string_view prefix : {"arg:", "metric:"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = ": 'flor show RUN' lists what a run has";
  throw NotFound(fmt::format("no run here has a metric or an argument '{}', nor is it a column{}",
                             store::printable(name), hint));
}

}  // namespace

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

std::string status_text(const Run& run) {
  std::string text(store::to_string(run.state));
  if (!run.degraded.empty()) text += ", " + run.degraded;
  return text;
}

Tone status_tone(const Run& run) {
  switch (run.state) {
    case store::RunState::running:
      return Tone::strong;
    case store::RunState::finished:
      return run.degraded.empty() ? Tone::good : Tone::warning;
    case store::RunState::failed:
      return Tone::bad;
    case store::RunState::interrupted:
      return Tone::warning;
    case store::RunState::imported:
      return Tone::plain;
  }
  return Tone::plain;
}

std::vector<std::string> builtin_column_names() {
  std::vector<std::string> names;
  for (const Builtin& builtin : kBuiltins) names.emplace_back(builtin.name);
  return names;
}

RunColumn tag_column() {
  return {.title = "tag", .field = [](const ListedRun& f, std::int64_t) {
            Field field = text_field({});
            for (const std::string& tag : f.run.tags) {
              field.text += (field.text.empty() ? "" : " ") + tag;
            }
            field.words = f.run.tags;
            return field;
          }};
}

RunColumn note_column() {
  return {.title = "note", .shrinks = true, .field = [](const ListedRun& f, std::int64_t) {
            return text_field(f.run.note);
          }};
}

std::optional<RunColumn> builtin_column(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (name != builtin.name) continue;
    const bool metrics = name == "metrics";
    return RunColumn{builtin.name, builtin.align, metrics, metrics, false, builtin.field};
  }
  return std::nullopt;
}

RunColumn column_named(std::string_view name) {
  if (auto builtin = builtin_column(name)) return *std::move(builtin);
  RunColumn column{std::string(name), Align::right, false, true, true, {}};
  if (const auto label = label_column(name)) column = label();
  column.needs_metrics = column.needs_arguments = true;
  column.field = [meaning = meaning_of(name), label = std::move(column.field)](
                     const ListedRun& facts, std::int64_t now_us) {
    Field field = named_field(facts, meaning);
    return field.text.empty() && label ? label(facts, now_us) : field;
  };
  return column;
}

RunColumn find_column(std::string_view name, std::span<const ListedRun> runs) {
  if (auto builtin = builtin_column(name)) return *std::move(builtin);
  if (label_column(name)) return column_named(name);
  const Meaning meaning = meaning_of(name);
  const bool is_known =
      std::ranges::any_of(runs, [&](const ListedRun& facts) { return has_any(facts, meaning); });
  if (!is_known) unknown_column(name, runs);
  return column_named(name);
}

std::optional<store::NumberTest> names_of(std::string_view name) {
  using Of = store::NumberTest::Of;
  if (builtin_column(name) || label_column(name)) return std::nullopt;
  const Meaning meaning = meaning_of(name);
  store::NumberTest names;
  if (!meaning.metric.empty()) names.metrics.push_back({meaning.metric, Of::last});
  if (!meaning.aggregated.empty()) {
    names.metrics.push_back({meaning.aggregated, of_aggregate(meaning.aggregate)});
  }
  names.argument = meaning.argument;
  return names;
}

bool sorts_before(const Field& a, const Field& b, bool descending) {
  const auto missing = [](const Field& field) {
    return field.text.empty() || (field.number && std::isnan(*field.number));
  };
  if (missing(a) || missing(b)) return !missing(a) && missing(b);
  if (a.number && b.number) return descending ? *b.number < *a.number : *a.number < *b.number;
  if (a.number || b.number) return a.number.has_value();
  return descending ? b.text < a.text : a.text < b.text;
}

}  // namespace flor::ask
