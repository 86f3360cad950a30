#include "imports/logged_run.h"

#include "base/text.h"
#include "index/values/own_series.h"
#include "output/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

/// Lines about names that were left out; a file may have any number of them.
constexpr std::size_t kRefusedShown = 8;
/// Above this number, names that were left out are no longer told apart.
constexpr std::size_t kRefusedMax = 200'000;
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

void LoggedSeries::set_real(std::size_t at, double real) {
  points_[at].bits = std::bit_cast<std::uint64_t>(real);
  points_[at].type = store::ValueType::real;
  has_reals_ = true;
}

void LoggedSeries::settle() {
  for (Point& point : points_) {
    if (!has_reals_ || point.type != store::ValueType::integer) continue;
    const auto integer = std::bit_cast<std::int64_t>(point.bits);
    const auto real = static_cast<double>(integer);
    constexpr double kBeyond = 9223372036854775808.0;  // no integer, unlike the reals below it
    if (real >= kBeyond || static_cast<std::int64_t>(real) != integer) {
      if (inexact_++ == 0) first_inexact_ = integer;
    }
    point.bits = std::bit_cast<std::uint64_t>(real);
    point.type = store::ValueType::real;
  }
  if (!std::ranges::is_sorted(points_, {}, &Point::place)) {
    std::ranges::stable_sort(points_, {}, &Point::place);
  }
}

void LoggedRun::refuse(std::string_view name) {
  if (refused_.size() >= kRefusedMax) return;
  if (!refused_.insert(std::hash<std::string_view>()(name)).second) return;
  if (refused_.size() > kRefusedShown) return;
  const std::string shown = store::printable(name.substr(0, 40));
  remark(
      name.empty() ? std::string("values without a name are left out")
      : name.size() > kLoggedNameMax
          ? fmt::format("'{}...' is left out: a name has at most {} bytes", shown, kLoggedNameMax)
          : fmt::format("'{}' is left out: names that begin so are Flor's own", shown));
}

LoggedSeries* LoggedRun::series(std::string_view name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    return &series_[known->second];
  }
  const bool is_own = name.starts_with(store::kReservedPrefix) || name.starts_with("pinned:");
  if (is_own || name.empty() || name.size() > kLoggedNameMax) {
    refuse(name);
    return nullptr;
  }
  // Two names that are printed alike would be two series of one name.
  std::string shown = store::printable(name);
  const auto [known, is_new] = by_name_.try_emplace(shown, series_.size());
  if (!is_new) return &series_[known->second];
  bytes_of_names_ += shown.size();
  return &series_.emplace_back(std::move(shown));
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
  std::size_t inexact = 0;
  for (LoggedSeries& one : series_) {
    one.settle();
    if (one.inexact() == 0) continue;
    const std::int64_t first = one.first_inexact();
    if (++inexact > kRefusedShown) continue;
    remark(fmt::format("'{}' has real numbers, too, as which {} {} not exact: {} is {:.0f}",
                       one.name(), counted(one.inexact(), "whole one"),
                       one.inexact() == 1 ? "is" : "are", first, static_cast<double>(first)));
  }
  if (refused_.size() > kRefusedShown) {
    remark(fmt::format("{} more names are left out for such reasons",
                       refused_.size() - kRefusedShown));
  }
  std::erase_if(series_, [](const LoggedSeries& one) { return one.size() == 0; });
  by_name_.clear();
}

}  // namespace flor::cli
