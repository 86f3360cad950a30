// JSON objects that describe a run.
#include "view/run_json.h"

#include "output/values.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace flor::cli {
namespace {

template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// A minimum or maximum; null if it is NaN, because only numbers have these.
Json bound_json(double value) { return std::isnan(value) ? Json(nullptr) : json_number(value); }

}  // namespace

Json origin_json(const store::RunOrigin& origin) {
  const bool here = origin.recorded_here();
  return {{"kind", std::string(store::to_string(origin.kind))},
          {"from", here ? Json() : json_text(origin.from)},
          {"since", here ? Json() : json_time(origin.since_us)}};
}

Json run_json(const store::Run& run) {
  const auto& place = run.start.rank;
  return {{"id", run.key},
          {"experiment", run.start.experiment},
          {"origin", origin_json(run.origin)},
          {"rank", place ? Json(place->rank) : Json()},
          {"ranks", place ? place->world : 1},
          {"started", json_time(run.start.started_us)},
          {"finished", json_time(run.finished_us)},
          {"status", std::string(store::to_string(run.state))},
          {"message", json_text(run.message)},
          {"degraded", json_text(run.degraded)},
          {"commit", json_text(run.start.commit)},
          {"repository", json_text(run.start.repository)},
          {"directory", json_text(run.start.directory)},
          {"epochs", run.epochs},
          {"checkpoints", run.checkpoints},
          {"raw_bytes", run.raw_bytes},
          {"stored_bytes", run.stored_bytes},
          {"tags", run.tags},
          {"note", json_text(run.note)}};
}

Json argument_json(const store::Argument& argument) {
  if (argument.type == "int") {
    if (const auto value = parse<std::int64_t>(argument.value)) return *value;
  } else if (argument.type == "real") {
    if (const auto value = parse<double>(argument.value)) return json_number(*value);
  } else if (argument.type == "bool") {
    if (argument.value == "true" || argument.value == "1") return true;
    if (argument.value == "false" || argument.value == "0") return false;
  }
  return argument.value;
}

Json arguments_json(std::span<const store::Argument> arguments) {
  Json result = Json::object();
  for (const store::Argument& argument : arguments) {
    result[argument.name] = argument_json(argument);
  }
  return result;
}

Json metrics_json(std::span<const store::MetricSummary> metrics) {
  Json result = Json::object();
  for (const store::MetricSummary& metric : metrics) {
    result[metric.name] = Json{{"type", std::string(store::to_string(metric.type))},
                               {"count", metric.count},
                               {"last", to_json(metric.type, metric.last)},
                               {"min", bound_json(metric.minimum)},
                               {"max", bound_json(metric.maximum)},
                               {"hindsight", metric.hindsight},
                               {"evaluated", metric.evaluated},
                               {"doubtful", metric.doubtful}};
  }
  return result;
}

}  // namespace flor::cli
