#include "view/loop_columns.h"

#include "index/values/own_series.h"
#include "index/values/value_stream.h"
#include "output/values.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace flor::cli {
namespace {

using store::Place;
using store::Value;

std::string identity(std::int64_t run, std::string_view path, std::int64_t epoch, std::int64_t step,
                     std::string_view inner) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", run, path, epoch, step, inner);
}

/// The first `count` of the comma-separated indices.
std::string_view first_indices(std::string_view inner, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end != inner.npos; ++i) {
    end = inner.find(',', i == 0 ? 0 : end + 1);
  }
  return inner.substr(0, end);
}

std::int64_t index_in(std::string_view inner, std::size_t at) {
  const std::string_view up_to = first_indices(inner, at + 1);
  const std::string_view text = up_to.substr(up_to.rfind(',') + 1);
  std::int64_t index = -1;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

/// "train" of the second execution "train~2".
std::string_view loop_name(std::string_view component) {
  return component.substr(0, component.find('~'));
}

}  // namespace

std::string loop_text(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c != '/' || (!text.empty() && text.back() != '/')) text += c;
  }
  return text;
}

std::vector<LoopColumns::Level> LoopColumns::levels_of(std::string_view path) {
  std::vector<Level> levels;
  std::map<std::string, int> met;
  for (std::size_t begin = 0, depth = 0; begin < path.size(); ++depth) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name(loop_name(path.substr(begin, end - begin)));
    if (!name.empty()) levels.push_back({{name, met[name]++}, depth, std::string(path, 0, end)});
    begin = end + 1;
  }
  return levels;
}

void LoopColumns::read(const store::Store& store, const store::Run& run) {
  main_loops_[run.id] = store.catalog().main_loops(run.id);
  const store::ValueQuery query{.run = run.id, .names = {std::string(store::kIterationSeries)}};
  store::each_value(store, query, [&](Value&& value) {
    if (value.name != store::kIterationSeries) return;  // doubtful ones
    with_values_[{run.id, value.place.path}] |= value.type == store::ValueType::integer;
    values_[identity(run.id, value.place.path, value.place.epoch, value.place.step,
                     value.place.inner)] = {value.type, std::move(value.value)};
  });
}

void LoopColumns::add(const std::string& path) {
  if (const auto [known, is_new] = paths_.try_emplace(path); is_new) {
    known->second = levels_of(path);
  }
}

std::string LoopColumns::unused_title(const Loop& loop, std::string_view ending,
                                      const std::vector<std::string>& taken) const {
  std::string title = loop.first;
  if (loop.second > 0) title += fmt::format(":{}", loop.second + 1);
  title += ending;
  const auto is_used = [&](const std::vector<std::string>& titles) {
    return std::ranges::find(titles, title) != titles.end();
  };
  while (is_used(taken) || is_used(titles_)) title.insert(0, "loop:");
  return title;
}

void LoopColumns::settle(Form form, const std::vector<std::string>& taken) {
  std::vector<std::pair<std::size_t, Loop>> order;  // outer loops first
  std::map<Loop, bool> has_values;
  for (const auto& [path, levels] : paths_) {
    for (const Level& level : levels) {
      const auto known = std::ranges::find(order, level.loop, &decltype(order)::value_type::second);
      if (known == order.end()) {
        order.emplace_back(level.depth, level.loop);
      } else {
        known->first = std::min(known->first, level.depth);
      }
      for (const auto& [of, numbers] : with_values_) {
        if (of.second == level.path) has_values[level.loop] = true;
      }
    }
  }
  std::ranges::stable_sort(order, {}, &decltype(order)::value_type::first);
  for (const auto& [depth, loop] : order) {
    const bool is_known = loop.second == 0 && ((depth == 0 && loop.first == "epoch") ||
                                               (depth == 1 && loop.first == "step"));
    const bool is_brief = form == Form::brief && depth < 2 && !has_values[loop];
    Titled& titled = loops_[loop];
    if (!is_known && !is_brief) {
      titled.number = titles_.size();
      titles_.push_back(unused_title(loop, "", taken));
    }
    if (has_values[loop]) {
      titled.value = titles_.size();
      titles_.push_back(unused_title(loop, "_value", taken));
    }
  }
  for (const auto& [path, levels] : paths_) {
    for (const Level& level : levels) {
      if (loops_.at(level.loop).number) continue;
      needs_epoch_ = needs_epoch_ || level.depth == 0;
      needs_step_ = needs_step_ || level.depth == 1;
    }
  }
}

std::int64_t LoopColumns::number_at(std::int64_t run, const Level& level,
                                    const Place& place) const {
  if (level.depth == 1) return place.step;
  if (level.depth > 1) return index_in(place.inner, level.depth - 2);
  std::int64_t first = 0;
  if (const auto loops = main_loops_.find(run); loops != main_loops_.end()) {
    for (const store::MainLoop& loop : loops->second) {
      if (loop.first_epoch <= place.epoch && loop.name == level.path) first = loop.first_epoch;
    }
  }
  return place.epoch - first;
}

const LoopColumns::IterationValue* LoopColumns::value_at(std::int64_t run, const Level& level,
                                                         const Place& place) const {
  const std::string_view inner =
      level.depth > 1 ? first_indices(place.inner, level.depth - 1) : std::string_view();
  const auto found = values_.find(
      identity(run, level.path, place.epoch, level.depth > 0 ? place.step : -1, inner));
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<LoopColumns::Cell> LoopColumns::of(std::int64_t run, const Place& place) const {
  std::vector<Cell> cells(titles_.size());
  const auto levels = paths_.find(place.path);
  if (levels == paths_.end()) return cells;
  for (const Level& level : levels->second) {
    const Titled& titled = loops_.at(level.loop);
    const std::int64_t number = number_at(run, level, place);
    if (number < 0) continue;  // while the range of the loop is begun
    const Cell plain{std::to_string(number), std::to_string(number), number};
    if (titled.number) cells[*titled.number] = plain;
    if (!titled.value) continue;
    if (const IterationValue* value = value_at(run, level, place)) {
      cells[*titled.value] = {readable(value->type, value->value), exact(value->type, value->value),
                              to_json(value->type, value->value)};
    } else if (const auto numbers = with_values_.find({run, level.path});
               numbers != with_values_.end() && numbers->second) {
      cells[*titled.value] = plain;
    }
  }
  return cells;
}

Json LoopColumns::json_of(std::int64_t run, const Place& place) const {
  Json result = Json::object();
  const std::vector<Cell> cells = of(run, place);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].exact.empty() || cells[i].json.is_string()) result[titles_[i]] = cells[i].json;
  }
  return result;
}

}  // namespace flor::cli
