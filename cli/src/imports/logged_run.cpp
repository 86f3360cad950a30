#include "imports/logged_run.h"

#include "base/text.h"
#include "index/values/own_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

constexpr std::size_t kNameMax = 1000;
/// Lines about names that were left out; a file may have any number of them.
constexpr int kRefusedShown = 8;
/// Times that can be meant: up to the year 2255.
constexpr std::int64_t kTimeMax = std::int64_t{9'000'000'000} * 1'000'000;

}  // namespace

void LoggedSeries::add(const LoggedPlace& place, store::ValueType type, store::Scalar&& value) {
  Point point{.place = place, .type = type};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    point.bits = std::bit_cast<std::uint64_t>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    point.bits = std::bit_cast<std::uint64_t>(*real);
    has_reals_ = true;
  } else {
    point.bits = texts_.size();
    texts_.push_back(std::get<std::string>(std::move(value)));
  }
  points_.push_back(point);
}

store::Scalar LoggedSeries::value(std::size_t at) const {
  const Point& point = points_[at];
  switch (point.type) {
    case store::ValueType::boolean:
    case store::ValueType::integer:
      return std::bit_cast<std::int64_t>(point.bits);
    case store::ValueType::real:
      return std::bit_cast<double>(point.bits);
    default:
      return texts_[point.bits];
  }
}

void LoggedSeries::settle() {
  for (Point& point : points_) {
    if (!has_reals_ || point.type != store::ValueType::integer) continue;
    point.bits =
        std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<std::int64_t>(point.bits)));
    point.type = store::ValueType::real;
  }
  if (!std::ranges::is_sorted(points_, {}, &Point::place)) {
    std::ranges::stable_sort(points_, {}, &Point::place);
  }
}

LoggedSeries* LoggedRun::series(std::string_view name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    return known->second == SIZE_MAX ? nullptr : &series_[known->second];
  }
  const bool is_own = name.starts_with(store::kReservedPrefix) || name.starts_with("pinned:");
  if (is_own || name.empty() || name.size() > kNameMax) {
    by_name_.emplace(name, SIZE_MAX);
    const std::string shown = store::printable(name.substr(0, 40));
    if (++refused_names_ <= kRefusedShown) {
      remark(is_own ? fmt::format("'{}' is left out: names that begin so are Flor's own", shown)
             : name.empty() ? std::string("values without a name are left out")
                            : fmt::format("'{}...' is left out: a name has at most {} bytes", shown,
                                          kNameMax));
    }
    return nullptr;
  }
  by_name_.emplace(name, series_.size());
  return &series_.emplace_back(store::printable(name));
}

std::size_t LoggedRun::values() const {
  std::size_t count = 0;
  for (const LoggedSeries& one : series_) count += one.size();
  return count;
}

void LoggedRun::notice_time(const LoggedPlace& place, std::int64_t time_us) {
  if (time_us <= 0 || time_us > kTimeMax) return;
  first_us = std::min(first_us.value_or(time_us), time_us);
  const auto [known, is_new] = times_.try_emplace(place.epoch, time_us);
  known->second = std::max(known->second, time_us);
}

template <typename Visit>
void LoggedRun::each_place(const Visit& visit) {
  for (LoggedSeries& one : series_) {
    for (std::size_t at = 0; at < one.size(); ++at) visit(one.place(at));
  }
}

/// The first epoch of many logs is called 1, and 0 here, where recorded runs begin.
void LoggedRun::shift_epochs() {
  std::int64_t least = INT64_MAX;
  const auto meet = [&](std::int64_t epoch) {
    if (epoch >= 0) least = std::min(least, epoch);
  };
  each_place([&](const LoggedPlace& place) { meet(place.epoch); });
  for (const store::Printed& piece : printed) meet(piece.place.epoch);
  if (least != 1) return;
  remark("the log counts epochs from 1: its epoch 1 is epoch 0 here");
  each_place([](LoggedPlace& place) { place.epoch -= place.epoch > 0 ? 1 : 0; });
  for (store::Printed& piece : printed) piece.place.epoch -= piece.place.epoch > 0 ? 1 : 0;
  std::map<std::int64_t, std::int64_t> shifted;
  for (const auto& [epoch, time] : times_) shifted[epoch > 0 ? epoch - 1 : epoch] = time;
  times_ = std::move(shifted);
}

/// Where each epoch begins above all steps of the one before, steps are counted over all epochs.
void LoggedRun::count_steps_in_their_epochs() {
  struct Steps {
    std::int64_t first = INT64_MAX, last = -1;
  };
  std::map<std::int64_t, Steps> steps;
  each_place([&](const LoggedPlace& place) {
    if (place.epoch < 0) return;
    Steps& those = steps[place.epoch];
    if (place.step < 0) return;
    those.first = std::min(those.first, place.step);
    those.last = std::max(those.last, place.step);
  });
  for (const store::Printed& piece : printed) {
    if (piece.place.epoch >= 0) steps[piece.place.epoch];
  }
  std::map<std::int64_t, std::int64_t> begin;
  std::int64_t last = -1;
  bool over_all = true;
  int with_steps = 0;
  for (const auto& [epoch, those] : steps) {
    if (those.last < 0) continue;
    over_all = over_all && those.first > last;
    begin[epoch] = with_steps == 0 ? 0 : last + 1;
    last = those.last;
    ++with_steps;
  }
  over_all = over_all && with_steps > 1;
  for (const auto& [epoch, those] : steps) {
    const std::int64_t from = over_all && those.last >= 0 ? begin[epoch] : 0;
    epochs_[epoch].steps = those.last < 0 ? 0 : those.last - from + 1;
  }
  if (!over_all) return;
  each_place([&](LoggedPlace& place) {
    if (place.step >= 0) place.step -= begin[place.epoch];
  });
}

void LoggedRun::settle() {
  shift_epochs();
  count_steps_in_their_epochs();
  for (const auto& [epoch, time] : times_) {
    if (epoch >= 0) epochs_[epoch].last_us = time;
  }
  for (LoggedSeries& one : series_) one.settle();
  std::erase_if(series_, [](const LoggedSeries& one) { return one.size() == 0; });
  by_name_.clear();
}

}  // namespace flor::cli
