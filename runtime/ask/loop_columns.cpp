#include "ask/loop_columns.h"

#include "ask/join.h"
#include "ask/words.h"
#include "index/values/own_series.h"
#include "index/values/value_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace flor::ask {
namespace {

using store::Place;
using store::Value;

std::string iteration_key(std::int64_t run, std::string_view path, std::int64_t epoch,
                          std::int64_t step, std::string_view inner) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", run, path, epoch, step, inner);
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
    values_[iteration_key(run.id, value.place.path, value.place.epoch, value.place.step,
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
  struct Met {
    std::size_t least = SIZE_MAX, greatest = 0;  // how deep it lies
    bool has_values = false;
  };
  std::map<Loop, Met> all;
  for (const auto& [path, levels] : paths_) {
    for (const Level& level : levels) {
      Met& met = all[level.loop];
      met.least = std::min(met.least, level.depth);
      met.greatest = std::max(met.greatest, level.depth);
      for (const auto& [of, numbers] : with_values_) {
        met.has_values = met.has_values || of.second == level.path;
      }
    }
  }
  std::vector<std::pair<Loop, Met>> outer_first(all.begin(), all.end());
  std::ranges::stable_sort(outer_first, {}, [](const auto& one) { return one.second.least; });
  const bool has_numbers = form == Form::whole || std::ranges::any_of(all, [](const auto& one) {
                             return one.second.greatest > 1 || one.second.has_values;
                           });
  for (const auto& [loop, met] : outer_first) {
    const std::string_view known = met.greatest == 0                     ? "epoch"
                                   : met.least == 1 && met.greatest == 1 ? "step"
                                                                         : "";
    Titled& titled = loops_[loop];
    if (has_numbers && (loop.second > 0 || loop.first != known)) {
      titled.number = titles_.size();
      titles_.push_back(unused_title(loop, "", taken));
    }
    if (met.has_values) {
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
      const bool is_before = loop.first_epoch >= 0 && loop.first_epoch <= place.epoch;
      if (is_before && loop.name == level.path) first = loop.first_epoch;
    }
  }
  return place.epoch - first;
}

const LoopColumns::Cell* LoopColumns::value_at(std::int64_t run, const Level& level,
                                               const Place& place) const {
  const std::string_view inner =
      level.depth > 1 ? first_indices(place.inner, level.depth - 1) : std::string_view();
  const auto found = values_.find(
      iteration_key(run, level.path, place.epoch, level.depth > 0 ? place.step : -1, inner));
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::optional<LoopColumns::Cell>> LoopColumns::of(std::int64_t run,
                                                              const Place& place) const {
  std::vector<std::optional<Cell>> cells(titles_.size());
  const auto levels = paths_.find(place.path);
  if (levels == paths_.end()) return cells;
  for (const Level& level : levels->second) {
    const Titled& titled = loops_.at(level.loop);
    const std::int64_t number = number_at(run, level, place);
    if (number < 0) continue;  // while the range of the loop is begun
    if (titled.number) cells[*titled.number] = Cell{store::ValueType::integer, number};
    if (titled.value) cells[*titled.value] = value_cell(run, level, place, number);
  }
  return cells;
}

std::optional<LoopColumns::Cell> LoopColumns::value_cell(std::int64_t run, const Level& level,
                                                         const Place& place,
                                                         std::int64_t number) const {
  if (const Cell* value = value_at(run, level, place)) return *value;
  const auto numbers = with_values_.find({run, level.path});
  if (numbers == with_values_.end() || !numbers->second) return std::nullopt;
  return Cell{store::ValueType::integer, number};
}

std::string LoopColumns::text_of(std::int64_t run, const Place& place) const {
  std::string text;
  bool says_more = false;
  for (const Level& level : levels_of(place.path)) {
    const std::int64_t number = number_at(run, level, place);
    if (number < 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level.loop.first, number);
    const auto value = value_cell(run, level, place, number);
    if (value) text += fmt::format(" ({})", readable(value->type, value->value));
    says_more = says_more || value || level.depth > 1;
  }
  return says_more ? text : std::string();
}

}  // namespace flor::ask
