// Metrics as curves over the values of another metric.
#include "ask/join.h"
#include "ask/loop_columns.h"
#include "curves/series.h"
#include "index/values/value_stream.h"
#include "output/values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace flor::cli {
namespace {

using store::Value;

/// The source of the axis: the values of a metric, or those of a loop's iterations.
class OverAxis {
 public:
  OverAxis(const store::Store& store, const store::Run& run, const std::string& name,
           const std::vector<Value>& values)
      : run_(run.id) {
    if (std::ranges::find(values, name, &Value::name) != values.end()) return;
    loops_.emplace();
    loops_->read(store, run);
    for (const Value& value : values) loops_->add(value.place.path);
    loops_->settle(ask::LoopColumns::Form::whole, {});
    const auto& titles = loops_->titles();
    column_ = static_cast<std::size_t>(std::ranges::find(titles, name) - titles.begin());
  }

  bool is_metric() const { return !loops_; }
  /// The number of the loop's iteration at this place.
  std::optional<double> at(const store::Place& place) const {
    const auto cells = loops_->of(run_, place);
    if (column_ >= cells.size() || !cells[column_]) return std::nullopt;
    return number(cells[column_]->type, cells[column_]->value);
  }

 private:
  std::int64_t run_;
  std::optional<ask::LoopColumns> loops_;
  std::size_t column_ = 0;
};

/// Adds the values of one name to the answer.
class OverSeries {
 public:
  OverSeries(SeriesAnswer& answer, const SeriesQuestion& question, const OverAxis& axis,
             const std::vector<Value>& values)
      : answer_(answer), question_(question), axis_(axis), values_(values) {}

  void add(const std::string& name, const std::string& asked) {
    std::map<std::string, Series> series;  // by loop
    std::int64_t numbers = 0;
    for (const Value& value : values_) {
      if (value.name != name) continue;
      ++(number(value.type, value.value) ? numbers : answer_.no_numbers);
    }
    const auto put = [&](const Value& value, std::optional<double> x) {
      const auto y = number(value.type, value.value);
      if (!y || !x || !std::isfinite(*x)) return;
      --numbers;
      Series& one = series[value.place.path];
      one.points.push_back({*x, *y, origin_of_value(value)});
      one.doubtful = value.job == 0 && value.verdict == store::ValueVerdict::doubtful;
    };
    axis_.is_metric() ? join(name, put) : look_up(name, put);
    answer_.no_x += numbers;
    for (auto& [path, one] : series) {
      one.metric = name;
      one.path = path;
      one.asked = asked;
      std::ranges::stable_sort(one.points, {}, &Point::x);
      answer_.series.push_back(std::move(one));
    }
  }

 private:
  template <typename Put>
  void join(const std::string& name, const Put& put) const {
    const std::vector<std::string> names{question_.over, name};
    const ask::Join joined(names, values_);
    for (std::size_t i = 0; i < joined.size(); ++i) {
      const auto cells = joined.cells(i);
      // A value that is repeated at the places inside its own is no value of those.
      if (!cells[1] || cells[1]->place != *joined.row(i).place) continue;
      const Value* x = cells[0];
      put(*cells[1], x ? number(x->type, x->value) : std::nullopt);
    }
  }
  template <typename Put>
  void look_up(const std::string& name, const Put& put) const {
    for (const Value& value : values_) {
      if (value.name == name) put(value, axis_.at(value.place));
    }
  }

  SeriesAnswer& answer_;
  const SeriesQuestion& question_;
  const OverAxis& axis_;
  const std::vector<Value>& values_;
};

}  // namespace

SeriesAnswer series_over(const store::Store& store, const store::Run& run,
                         const SeriesQuestion& question) {
  SeriesAnswer answer;
  if (question.metrics.empty()) return answer;
  store::ValueQuery query{.run = run.id, .names = question.metrics};
  query.names.push_back(question.over);
  query.first_epoch = question.first_epoch == 0 ? -1 : question.first_epoch;
  query.last_epoch = question.last_epoch;
  query.evaluated = true;
  std::vector<Value> values;
  store::each_value(store, query, [&](Value&& value) { values.push_back(std::move(value)); });
  const OverAxis axis(store, run, question.over, values);
  std::set<std::string> names;
  for (const Value& value : values) names.insert(value.name);
  OverSeries over(answer, question, axis, values);
  for (const std::string& metric : question.metrics) {
    for (const std::string& name : names) {
      if (name == metric || is_doubtful_of(name, metric)) over.add(name, metric);
    }
  }
  return answer;
}

}  // namespace flor::cli
