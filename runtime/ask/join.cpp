// Joins values of several metrics into one table.
#include "ask/join.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace flor::ask {

std::string_view first_indices(std::string_view inner, std::size_t count) {
  if (count == 0) return {};
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end != std::string_view::npos; ++i) {
    end = inner.find(',', i == 0 ? 0 : end + 1);
  }
  return inner.substr(0, end);
}

namespace {

using store::Place;
using store::Value;

constexpr std::size_t kNone = SIZE_MAX;

std::size_t depth_of(std::string_view path) {
  if (path.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::ranges::count(path, '/'));
}

bool lies_in(std::string_view inner, std::string_view outer) {
  if (outer.empty()) return !inner.empty();
  return inner.size() > outer.size() && inner.starts_with(outer) && inner[outer.size()] == '/';
}

/// Compares lists of indices such as "4,0" and "10" number by number.
int compare_indices(std::string_view a, std::string_view b) {
  while (a != b) {
    if (a.empty() || b.empty()) return a.empty() ? -1 : 1;
    const std::string_view first = first_indices(a, 1), second = first_indices(b, 1);
    std::int64_t x = 0, y = 0;
    std::from_chars(first.data(), first.data() + first.size(), x);
    std::from_chars(second.data(), second.data() + second.size(), y);
    if (x != y) return x < y ? -1 : 1;
    if (first != second) return first < second ? -1 : 1;
    a.remove_prefix(std::min(a.size(), first.size() + 1));
    b.remove_prefix(std::min(b.size(), second.size() + 1));
  }
  return 0;
}

struct Item {
  const Value* value;
  std::size_t column;
  std::size_t path;
};

struct PlaceKey {
  std::size_t path;
  std::int64_t epoch, step;
  std::string_view inner;
  bool operator==(const PlaceKey&) const = default;
};

struct PlaceHash {
  std::size_t operator()(const PlaceKey& key) const noexcept {
    std::size_t hash = std::hash<std::string_view>()(key.inner);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(key.path), static_cast<std::uint64_t>(key.epoch),
          static_cast<std::uint64_t>(key.step)}) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// The paths of all loops in the values: deeper loops first, then in the order of first occurrence.
class Paths {
 public:
  Paths(std::span<const std::string> names, std::span<const Value> values)
      : columns_(names.size()) {
    std::unordered_map<std::string_view, std::size_t> columns;
    for (std::size_t i = 0; i < names.size(); ++i) columns.emplace(names[i], i);
    std::unordered_map<std::string_view, std::size_t> met;
    for (const Value& value : values) {
      const auto column = columns.find(value.name);
      if (column == columns.end()) continue;
      const auto [path, added] = met.emplace(value.place.path, paths_.size());
      if (added) paths_.push_back(value.place.path);
      items_.push_back({&value, column->second, path->second});
    }
    sort();
    holds_.assign(paths_.size() * columns_, false);
    for (const Item& item : items_) holds_[item.path * columns_ + item.column] = true;
    find_sources();
  }

  std::vector<Item> take_items() { return std::move(items_); }
  std::size_t depth(std::size_t path) const { return depth_of(paths_[path]); }
  /// The outer path whose values of `column` are repeated in the rows of `path`, or kNone.
  std::size_t source(std::size_t path, std::size_t column) const {
    return sources_[path * columns_ + column];
  }
  /// Whether values of this path are repeated in the rows of another path.
  bool is_source(std::size_t path) const { return std::ranges::count(sources_, path) > 0; }
  bool holds(std::size_t path, std::size_t column) const {
    return holds_[path * columns_ + column];
  }

 private:
  void sort() {
    std::vector<std::size_t> order(paths_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return depth(a) > depth(b); });
    std::vector<std::size_t> rank(paths_.size());
    std::vector<std::string_view> sorted;
    for (const std::size_t path : order) {
      rank[path] = sorted.size();
      sorted.push_back(paths_[path]);
    }
    paths_ = std::move(sorted);
    for (Item& item : items_) item.path = rank[item.path];
  }

  /// Sets, for each path and metric, the innermost loop around the path that logged the metric,
  /// unless the path itself did.
  void find_sources() {
    sources_.assign(paths_.size() * columns_, kNone);
    for (std::size_t path = 0; path < paths_.size(); ++path) {
      for (std::size_t column = 0; column < columns_; ++column) {
        if (holds(path, column)) continue;
        // Paths are sorted deepest first, so the first match is the innermost.
        for (std::size_t outer = path + 1; outer < paths_.size(); ++outer) {
          if (!holds(outer, column) || !lies_in(paths_[path], paths_[outer])) continue;
          sources_[path * columns_ + column] = outer;
          break;
        }
      }
    }
  }

  std::size_t columns_;
  std::vector<std::string_view> paths_;
  std::vector<Item> items_;
  std::vector<bool> holds_;           // whether a path has values of a column; index as in sources_
  std::vector<std::size_t> sources_;  // see `source`; index: path * columns_ + column
};

bool before(const Item& a, const Item& b) {
  const Place &p = a.value->place, &q = b.value->place;
  const auto outer = std::tie(p.epoch, a.path, p.step) <=> std::tie(q.epoch, b.path, q.step);
  if (outer != 0) return outer < 0;
  if (const int inner = compare_indices(p.inner, q.inner)) return inner < 0;
  return a.value->ordinal < b.value->ordinal;
}

bool same_place(const Item& a, const Item& b) {
  return a.path == b.path && a.value->place == b.value->place;
}

/// Builds the rows of a Join in three steps: gather, spread, and dropping rows that are repeated
/// elsewhere.
class Joiner {
 public:
  Joiner(std::span<const std::string> names, std::span<const Value> values)
      : columns_(names.size()), paths_(names, values) {}

  void gather();
  void spread();
  void drop();

  std::vector<Join::Row> take_rows() { return std::move(rows_); }
  std::vector<const Value*> take_cells() { return std::move(cells_); }

 private:
  PlaceKey outer_key(std::size_t row, std::size_t path) const;
  std::size_t find_outer(const PlaceKey& key, std::size_t column) const;
  bool is_repeated(std::size_t row) const;

  std::size_t columns_;
  Paths paths_;
  std::vector<Join::Row> rows_;
  std::vector<std::size_t> path_of_;   // for each row
  std::vector<std::size_t> last_row_;  // for each row, the last row of the same place
  std::vector<const Value*> cells_;
  std::vector<bool> repeated_;  // for each cell, whether its value is repeated in an inner row
  std::unordered_map<PlaceKey, std::size_t, PlaceHash> outer_;
};

/// Makes a row for each place and ordinal, with the values that were logged there.
void Joiner::gather() {
  std::vector<Item> items = paths_.take_items();
  if (!std::ranges::is_sorted(items, before)) std::ranges::stable_sort(items, before);
  std::size_t first_of_place = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& value = *items[i].value;
    const bool new_place = i == 0 || !same_place(items[i - 1], items[i]);
    if (new_place || items[i - 1].value->ordinal != value.ordinal) {
      if (new_place) first_of_place = rows_.size();
      rows_.push_back({&value.place, value.ordinal});
      path_of_.push_back(items[i].path);
      cells_.resize(cells_.size() + columns_, nullptr);
      last_row_.push_back(rows_.size() - 1);
      last_row_[first_of_place] = rows_.size() - 1;
    }
    cells_[cells_.size() - columns_ + items[i].column] = &value;
  }
  repeated_.assign(cells_.size(), false);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!paths_.is_source(path_of_[row])) continue;
    const Place& place = *rows_[row].place;
    // outer_ has the first row of a place; last_row_ leads to its other rows.
    outer_.emplace(PlaceKey{path_of_[row], place.epoch, place.step, place.inner}, row);
  }
}

/// The place in `path`, a loop around the row's loop, that contains the row.
PlaceKey Joiner::outer_key(std::size_t row, std::size_t path) const {
  const Place& place = *rows_[row].place;
  const std::size_t depth = paths_.depth(path);
  return {path, depth >= 1 ? place.epoch : -1, depth >= 2 ? place.step : -1,
          depth > 2 ? first_indices(place.inner, depth - 2) : std::string_view()};
}

/// The row with the value of `column` at that place, or kNone if there is none or several.
std::size_t Joiner::find_outer(const PlaceKey& key, std::size_t column) const {
  const auto first = outer_.find(key);
  if (first == outer_.end()) return kNone;
  std::size_t found = kNone;
  for (std::size_t row = first->second; row <= last_row_[first->second]; ++row) {
    if (!cells_[row * columns_ + column]) continue;
    if (found != kNone) return kNone;
    found = row;
  }
  return found;
}

/// Repeats the values of outer places in the rows inside them.
void Joiner::spread() {
  for (std::size_t column = 0; column < columns_; ++column) {
    PlaceKey last_key{kNone, 0, 0, {}};
    std::size_t last_found = kNone;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::size_t source = paths_.source(path_of_[row], column);
      if (source == kNone) continue;
      const PlaceKey key = outer_key(row, source);
      if (key != last_key) {
        last_key = key;
        last_found = find_outer(key, column);
      }
      if (last_found == kNone) continue;
      cells_[row * columns_ + column] = cells_[last_found * columns_ + column];
      repeated_[last_found * columns_ + column] = true;
    }
  }
}

/// Whether every value that was logged at the row's own place is repeated in inner rows.
bool Joiner::is_repeated(std::size_t row) const {
  if (!paths_.is_source(path_of_[row])) return false;
  for (std::size_t column = 0; column < columns_; ++column) {
    const std::size_t cell = row * columns_ + column;
    if (paths_.holds(path_of_[row], column) && cells_[cell] && !repeated_[cell]) return false;
  }
  return true;
}

void Joiner::drop() {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (is_repeated(row)) continue;
    rows_[kept] = rows_[row];
    for (std::size_t column = 0; column < columns_; ++column) {
      cells_[kept * columns_ + column] = cells_[row * columns_ + column];
    }
    ++kept;
  }
  rows_.resize(kept);
  cells_.resize(kept * columns_);
}

}  // namespace

Join::Join(std::span<const std::string> names, std::span<const Value> values)
    : columns_(names.size()) {
  Joiner joiner(names, values);
  joiner.gather();
  joiner.spread();
  joiner.drop();
  rows_ = joiner.take_rows();
  cells_ = joiner.take_cells();
}

void Join::drop_outside_loops() {
  // These rows come first, because their epoch is -1.
  const auto inside =
      std::ranges::find_if(rows_, [](const Row& row) { return row.place->epoch >= 0; });
  const auto dropped = inside - rows_.begin();
  rows_.erase(rows_.begin(), inside);
  cells_.erase(cells_.begin(), cells_.begin() + dropped * static_cast<std::ptrdiff_t>(columns_));
}

std::string_view origin_of(const Value& value) {
  if (value.job != 0) return "evaluated";
  return value.replay == 0 ? "recorded" : "hindsight";
}

std::string_view verdict_of(const Value& value) {
  return value.job != 0 ? "evaluated" : store::to_string(value.verdict);
}

std::string verdict_of(std::span<const Value* const> cells) {
  std::string text;
  for (const std::string_view verdict :
       {"recorded", "verified", "proven", "unverified", "doubtful", "evaluated"}) {
    const bool any = std::ranges::any_of(
        cells, [&](const Value* value) { return value && verdict_of(*value) == verdict; });
    if (!any) continue;
    if (!text.empty()) text += '+';
    text += verdict;
  }
  return text.empty() ? "recorded" : text;
}

std::string origin_of(std::span<const Value* const> cells) {
  std::string text;
  for (const std::string_view origin : {"recorded", "hindsight", "evaluated"}) {
    const bool any = std::ranges::any_of(
        cells, [&](const Value* value) { return value && origin_of(*value) == origin; });
    if (!any) continue;
    if (!text.empty()) text += '+';
    text += origin;
  }
  return text.empty() ? "recorded" : text;
}

}  // namespace flor::ask
