#include "index/values/evaluated.h"

#include "database/values/scalar.h"
#include "index/values/evaluations.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace flor::store {
namespace {

using nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Converts the texts that results use for NaN and infinities, which JSON cannot represent as
/// numbers (docs/evaluations.md).
std::optional<double> odd_number(const std::string& text) {
  if (text == "NaN") return kNan;
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  return std::nullopt;
}

void set_value(Value& value, const json& member) {
  if (member.is_boolean()) {
    value.type = ValueType::boolean;
    value.value = std::int64_t{member.get<bool>()};
  } else if (member.is_number_integer() &&
             (!member.is_number_unsigned() || member.get<std::uint64_t>() <= INT64_MAX)) {
    value.type = ValueType::integer;
    value.value = member.get<std::int64_t>();
  } else if (member.is_number()) {
    value.type = ValueType::real;
    value.value = member.get<double>();
  } else if (!member.is_string()) {
    value.type = ValueType::json;
    value.value = member.dump();
  } else if (const auto number = odd_number(member.get<std::string>())) {
    value.type = ValueType::real;
    value.value = *number;
  } else {
    value.type = ValueType::text;
    value.value = member.get<std::string>();
  }
}

/// Where a checkpoint's values are placed.
struct Spot {
  Place place;
  std::int64_t ordinal = 0;
  std::string saved;
};

class Loader {
 public:
  Loader(Connection& connection, std::int64_t run) : connection_(connection), run_(run) {
    read_spots();
    const auto rows = connection("SELECT DISTINCT name FROM series WHERE run = ?1", run);
    while (rows->step()) logged_.insert(rows->text(0));
  }

  std::vector<EvaluatedValue> load() {
    // The later of two checkpoints at the same place counts, whenever they were evaluated. If one
    // was deleted and taken again, only the existing one is found.
    const auto rows = connection_(
        "SELECT kind, main_loop, iteration, loop, job.id, spec, json, arguments FROM ("
        "SELECT id, kind, main_loop, iteration, loop, digest FROM checkpoint WHERE run = ?1 "
        "UNION ALL SELECT id, kind, main_loop, iteration, loop, digest FROM discarded AS gone "
        "WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint AS now WHERE now.run = ?1 AND "
        "now.kind = gone.kind AND now.main_loop = gone.main_loop AND "
        "now.iteration = gone.iteration AND now.loop = gone.loop)) AS point "
        "CROSS JOIN job ON job.content = point.digest CROSS JOIN job_result ON job = job.id "
        "CROSS JOIN evaluator ON evaluator.id = job.evaluator WHERE " FLOR_RESULT_COUNTS
        "ORDER BY point.id, evaluator.id, arguments",
        run_);
    while (rows->step()) {
      const auto kind = static_cast<CheckpointKind>(rows->integer(0));
      const auto spot = kind == CheckpointKind::saved
                            ? saved_spot(rows->text(3))
                            : epoch_spot(kind, rows->integer(1), rows->integer(2));
      const json result = json::parse(rows->text_view(6), nullptr, false);
      if (!spot || !result.is_object()) continue;
      add(*spot, rows->integer(4), evaluation_name(rows->text_view(5), rows->text_view(7)), result);
    }
    std::vector<EvaluatedValue> values;
    values.reserve(values_.size());
    for (auto& [key, value] : values_) values.push_back(std::move(value));
    return values;
  }

 private:
  struct Loop {
    std::string name;
    std::int64_t first_epoch = 0;
  };

  void read_spots() {
    const auto loops =
        connection_("SELECT ordinal, name, first_epoch FROM main_loop WHERE run = ?1", run_);
    while (loops->step()) loops_[loops->integer(0)] = {loops->text(1), loops->integer(2)};
    const auto saved = connection_(
        "SELECT name, path, epoch, step, inner, ordinal FROM saved WHERE run = ?1", run_);
    while (saved->step()) {
      saved_[saved->text(0)] = {
          {saved->text(1), saved->integer(2), saved->integer(3), saved->text(4)},
          saved->integer(5),
          saved->text(0)};
    }
  }

  std::optional<Spot> saved_spot(const std::string& name) const {
    const auto found = saved_.find(name);
    return found == saved_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<Spot> epoch_spot(CheckpointKind kind, std::int64_t main_loop,
                                 std::int64_t iteration) const {
    const auto loop = loops_.find(main_loop);
    if (kind != CheckpointKind::boundary || iteration == 0 || loop == loops_.end()) return {};
    return Spot{{loop->second.name, loop->second.first_epoch + iteration - 1, -1, ""}, 0, ""};
  }

  void add(const Spot& spot, std::int64_t job, const std::string& prefix, const json& object) {
    for (const auto& [member, content] : object.items()) {
      const std::string name = prefix + "." + member;
      if (content.is_object()) {
        add(spot, job, name, content);
      } else if (!content.is_null() && !logged_.contains(name)) {
        EvaluatedValue found;
        found.value.name = name;
        found.value.place = spot.place;
        found.value.ordinal = spot.ordinal;
        found.value.job = job;
        found.saved = spot.saved;
        set_value(found.value, content);
        values_.insert_or_assign({spot.saved, spot.place.epoch, name}, std::move(found));
      }
    }
  }

  Connection& connection_;
  std::int64_t run_;
  std::map<std::int64_t, Loop> loops_;
  std::map<std::string, Spot> saved_;
  std::set<std::string> logged_;
  std::map<std::tuple<std::string, std::int64_t, std::string>, EvaluatedValue> values_;
};

/// Replaces characters that have a meaning in conditions, shells or names of metrics.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
                          c == '+' || c == '.' || (c & 0x80) != 0;
    result += is_plain ? c : '_';
  }
  return result;
}

bool has_results(Connection& connection) {
  return connection("SELECT 1 FROM job_result LIMIT 1")->step();
}

}  // namespace

std::string evaluator_name(std::string_view spec) {
  const std::size_t colon = spec.rfind(':');
  const std::string_view file = spec.substr(0, colon);
  const bool function =
      colon != spec.npos && spec.find(' ', colon) == spec.npos &&
      (file.ends_with(".py") || file.ends_with(".so") || file.find(".so.") != file.npos);
  if (function) return std::string(spec.substr(colon + 1));
  // package.module.function; a program would have an absolute path.
  if (!spec.starts_with('/')) return std::string(spec.substr(spec.rfind('.') + 1));
  std::string_view name = spec.substr(0, spec.find(' '));
  name = name.substr(name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return std::string(dot == 0 ? name : name.substr(0, dot));
}

std::string evaluation_name(std::string_view spec, std::string_view arguments) {
  std::string name = evaluator_name(spec);
  const json object = json::parse(arguments, nullptr, false);
  if (!object.is_object()) return name;
  for (const auto& [argument, value] : object.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    name += '.' + plain(argument);
    name += '_' + plain(text);
  }
  return name;
}

std::vector<EvaluatedValue> load_evaluated(Connection& connection, std::int64_t run) {
  return has_results(connection) ? Loader(connection, run).load() : std::vector<EvaluatedValue>();
}

bool has_fetched_results(Connection& connection) {
  return connection("SELECT 1 FROM fetched_result LIMIT 1")->step();
}

bool is_answered_by_fetched(Connection& connection, const Digest& content, std::string_view spec,
                            std::string_view digest, std::string_view arguments) {
  const auto row = connection(
      "WITH came AS (SELECT run FROM fetched_result JOIN job ON job.id = fetched_result.job JOIN "
      "evaluator ON evaluator.id = job.evaluator WHERE content = ?1 AND spec = ?2 AND "
      "evaluator.digest = ?3 AND arguments = ?4), has AS (SELECT run.key, coalesce(origin.kind, 0) "
      "AS kind FROM checkpoint JOIN run ON run.id = checkpoint.run LEFT JOIN origin ON origin.run "
      "= run.id WHERE digest = ?1) SELECT EXISTS (SELECT 1 FROM has WHERE key IN (SELECT run FROM "
      "came)) AND NOT EXISTS (SELECT 1 FROM has WHERE kind <> 1 AND key NOT IN (SELECT run FROM "
      "came))",
      content, spec, digest, arguments);
  return row->step() && row->integer(0) != 0;
}

std::vector<std::int64_t> evaluated_runs(Connection& connection) {
  std::vector<std::int64_t> runs;
  if (!has_results(connection)) return runs;
  const auto rows = connection(
      "SELECT run FROM checkpoint WHERE digest IN (SELECT content FROM job WHERE state = 3) UNION "
      "SELECT run FROM discarded WHERE digest IN (SELECT content FROM job WHERE state = 3)");
  while (rows->step()) runs.push_back(rows->integer(0));
  return runs;
}

std::vector<MetricSummary> summarize(const std::vector<EvaluatedValue>& values) {
  std::map<std::string, MetricSummary> by_name;
  std::map<std::string, std::int64_t> last;
  for (const EvaluatedValue& found : values) {
    const Value& value = found.value;
    MetricSummary& metric = by_name[value.name];
    if (metric.count == 0) metric.minimum = metric.maximum = kNan;
    ++metric.count;
    const double number = number_of(value.type, value.value);
    metric.minimum = std::fmin(metric.minimum, number);
    metric.maximum = std::fmax(metric.maximum, number);
    const auto [latest, is_first] = last.try_emplace(value.name, value.place.epoch);
    if (!is_first && value.place.epoch < latest->second) continue;
    latest->second = value.place.epoch;
    metric.type = value.type;
    metric.last = value.value;
  }
  std::vector<MetricSummary> metrics;
  for (auto& [name, metric] : by_name) {
    metric.name = name;
    metric.evaluated = true;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace flor::store
