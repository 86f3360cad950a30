// Functions of Catalog about epochs whose checkpoints or values could not be stored.
#include "database/database.h"
#include "database/rest_rows.h"
#include "index/writing.h"

#include <flor/store/catalog.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Returns "epoch 3" or "epochs 3, 17..19 and 4 more", merging adjacent ranges.
std::string ranges_text(std::span<const Gap> gaps, bool values) {
  constexpr std::size_t kNamed = 4;
  std::vector<Gap> ranges;
  for (const Gap& gap : gaps) {
    if (values && !gap.values) continue;
    const bool touches = !ranges.empty() && gap.first <= ranges.back().last + 1;
    if (touches) {
      ranges.back().last = std::max(ranges.back().last, gap.last);
    } else {
      ranges.push_back(gap);
    }
  }
  if (ranges.empty()) return {};
  const bool one = ranges.size() == 1 && ranges[0].first == ranges[0].last;
  std::string text = one ? "epoch " : "epochs ";
  for (std::size_t i = 0; i < std::min(kNamed, ranges.size()); ++i) {
    const auto [first, last] = std::pair(ranges[i].first, ranges[i].last);
    text += fmt::format("{}{}", i > 0 ? ", " : "", first);
    if (last > first) text += fmt::format("..{}", last);
  }
  if (ranges.size() > kNamed) text += fmt::format(" and {} more", ranges.size() - kNamed);
  return text;
}

void put_text(Connection& connection, std::int64_t run, std::span<const Gap> gaps) {
  const std::string text = print_gaps(gaps);
  connection("UPDATE run SET degraded = ?2 WHERE id = ?1", run, text)->run();
}

std::vector<Gap> read_gaps(Connection& connection, std::int64_t run) {
  std::vector<Gap> gaps;
  const auto rows = connection(
      "SELECT first, last, lost_values, why FROM gap WHERE run = ?1 ORDER BY first", run);
  while (rows->step()) {
    gaps.push_back({rows->integer(0), rows->integer(1), rows->integer(2) != 0, rows->text(3)});
  }
  return gaps;
}

}  // namespace

std::string print_gaps(std::span<const Gap> gaps) {
  std::vector<Gap> inside;
  bool outside = false;
  for (const Gap& gap : gaps) {
    outside = outside || (gap.first < 0 && gap.values);
    if (gap.last < 0) continue;
    inside.push_back({std::max<std::int64_t>(gap.first, 0), gap.last, gap.values});
  }
  std::string text = ranges_text(inside, false);
  if (!text.empty()) text += " not stored";
  std::string lost = ranges_text(inside, true);
  if (!lost.empty()) lost = "values of " + lost;
  if (outside) lost += lost.empty() ? "values outside of its loops" : " and outside of its loops";
  if (lost.empty()) return text;
  return fmt::format("{}{}{} lost", text, text.empty() ? "" : "; ", lost);
}

void apply(Database& database, std::int64_t run, const GapsEvent& event) {
  Connection& connection = database.connection;
  const std::vector<Gap>& gaps = event.gaps;
  connection("DELETE FROM gap WHERE run = ?1", run)->run();
  for (const Gap& gap : gaps) {
    connection("INSERT INTO gap (run, first, last, lost_values, why) VALUES (?1, ?2, ?3, ?4, ?5)",
               run, gap.first, gap.last, gap.values, gap.why.text())
        ->run();
  }
  put_text(connection, run, gaps);
}

void Catalog::put_gaps(std::int64_t run, std::span<const Gap> gaps) {
  write(*database_, run, GapsEvent{{gaps.begin(), gaps.end()}});
}

std::vector<Gap> Catalog::gaps(std::int64_t run) const {
  const Lock lock(database_->mutex);
  return read_gaps(database_->connection, run);
}

void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  connection("DELETE FROM gap WHERE run = ?1 AND first >= ?2", run, point.epoch)->run();
  connection("UPDATE gap SET last = min(last, ?2 - 1) WHERE run = ?1", run, point.epoch)->run();
  put_text(connection, run, read_gaps(connection, run));
}

}  // namespace flor::store
