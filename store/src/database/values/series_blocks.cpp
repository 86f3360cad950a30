#include "database/values/series_blocks.h"

#include "database/values/scalar.h"
#include "file/paths.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace flor::store {
namespace {

constexpr std::size_t kChecksumBytes = 8;

/// The checksum guards the block apart from those of the pages, since a damaged block must not
/// decode to other numbers.
std::uint64_t checksum_of(std::span<const std::byte> block) {
  return XXH3_64bits(block.data(), block.size());
}

using Points = std::shared_ptr<const std::vector<Point>>;

/// Each thread caches the last decoded block, because a caller that reads epoch by epoch needs the
/// same block many times.
Points decode(const Connection& connection, Bytes content, std::int64_t series) {
  struct Decoded {
    std::uint64_t checksum = 0;
    std::size_t bytes = 0;
    Points points;
  };
  thread_local Decoded last;
  thread_local CodecContext context;
  const auto refuse = [&](const char* why) {
    if (const Paths paths{connection.path().parent_path()}; connection.path() == paths.catalog()) {
      remember_damage(connection.path());
    }
    return Damaged(
        fmt::format("the catalog's values of series {} {}: run `flor fsck`", series, why));
  };
  if (content.size() < kChecksumBytes) throw refuse("end early");
  const Bytes block = content.first(content.size() - kChecksumBytes);
  std::uint64_t expected = 0;
  std::memcpy(&expected, content.data() + block.size(), kChecksumBytes);
  if (checksum_of(block) != expected) throw refuse("are damaged");
  if (!last.points || last.checksum != expected || last.bytes != block.size()) {
    last = {expected, block.size(),
            std::make_shared<const std::vector<Point>>(decode_block(context, block))};
  }
  return last.points;
}

Point read_point(const Query& row, int column) {
  Point point;
  point.epoch = row.integer(column);
  point.step = row.integer(column + 1);
  point.inner = row.text(column + 2);
  point.ordinal = row.integer(column + 3);
  point.type = static_cast<ValueType>(row.integer(column + 4));
  point.value = read_scalar(row, column + 5);
  return point;
}

void put_block(Connection& connection, std::int64_t series, std::span<const Point> points) {
  thread_local CodecContext context;
  std::vector<std::byte> content;
  encode_block(context, points, content);
  const std::uint64_t checksum = checksum_of(content);
  content.resize(content.size() + kChecksumBytes);
  std::memcpy(content.data() + content.size() - kChecksumBytes, &checksum, kChecksumBytes);
  connection(
      "INSERT INTO block (series, first_epoch, first_step, last_epoch, last_step, count, content) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      series, points.front().epoch, points.front().step, points.back().epoch, points.back().step,
      static_cast<std::int64_t>(points.size()), Bytes(content))
      ->run();
}

void put_row(Connection& connection, std::int64_t series, const Point& point) {
  const auto insert = connection(
      "INSERT INTO value (series, epoch, step, inner, ordinal, replay, type, value) VALUES (?1, "
      "?2, ?3, ?4, ?5, 0, ?6, ?7)",
      series, point.epoch, point.step, std::string_view(point.inner), point.ordinal,
      static_cast<std::int64_t>(point.type));
  std::byte nan[8];
  bind_scalar(*insert, 7, point.value, nan);
  insert->run();
}

std::optional<StepKey> last_of(Connection& connection, const char* sql, std::int64_t series) {
  const auto row = connection(sql, series);
  if (!row->step()) return std::nullopt;
  return StepKey{row->integer(0), row->integer(1)};
}

constexpr const char* kLastOfBlocks =
    "SELECT last_epoch, last_step FROM block WHERE series = ?1 ORDER BY first_epoch DESC, "
    "first_step DESC LIMIT 1";

}  // namespace

StepKey key_of(const Point& point) { return {point.epoch, point.step}; }

Value value_of(SeriesValue&& one, const std::string& name, const std::string& path) {
  Value value;
  value.name = name;
  value.place = {path, one.point.epoch, one.point.step, std::move(one.point.inner)};
  value.ordinal = one.point.ordinal;
  value.replay = one.replay;
  value.type = one.point.type;
  value.value = std::move(one.point.value);
  return value;
}

bool is_packable(ValueType type) {
  return type == ValueType::boolean || type == ValueType::integer || type == ValueType::real;
}

bool precedes(const Point& a, const Point& b) {
  return std::tie(a.epoch, a.step, a.inner, a.ordinal) <
         std::tie(b.epoch, b.step, b.inner, b.ordinal);
}

std::optional<StepKey> SeriesBlocks::last(std::int64_t series) {
  const auto of_rows = last_of(
      connection_,
      "SELECT epoch, step FROM value WHERE series = ?1 ORDER BY epoch DESC, step DESC LIMIT 1",
      series);
  return std::max(of_rows, last_of(connection_, kLastOfBlocks, series));
}

void SeriesBlocks::append(std::int64_t series, std::span<const Point> points) {
  while (!points.empty()) {
    std::size_t size = std::min(points.size(), kBlockPointsMax);
    // The values of a step must not be split between blocks.
    if (size < points.size()) {
      while (size > 0 && key_of(points[size - 1]) == key_of(points[size])) --size;
    }
    std::size_t text = 0, fits = 0;
    while (fits < size && (text += points[fits].inner.size()) <= kBlockTextMax) ++fits;
    while (fits < size && fits > 0 && key_of(points[fits - 1]) == key_of(points[fits])) --fits;
    if (fits == 0) {  // a single step has more values than fit into a block
      const auto end = std::ranges::find_if(
          points, [&](const Point& point) { return key_of(point) != key_of(points.front()); });
      for (const Point& point : std::span(points.begin(), end)) put_row(connection_, series, point);
      points = std::span(end, points.end());
      continue;
    }
    put_block(connection_, series, points.first(fits));
    points = points.subspan(fits);
  }
}

void SeriesBlocks::break_up(std::int64_t series, StepKey first, StepKey last) {
  const auto end = last_of(connection_, kLastOfBlocks, series);
  if (!end || *end < first) return;  // the usual case: new values come after all blocks
  std::vector<std::pair<std::int64_t, Points>> found;
  {
    const auto rows = connection_(
        "SELECT id, content FROM block WHERE series = ?1 AND (last_epoch, last_step) >= (?2, ?3) "
        "AND (first_epoch, first_step) <= (?4, ?5)",
        series, first.epoch, first.step, last.epoch, last.step);
    while (rows->step()) {
      found.emplace_back(rows->integer(0), decode(connection_, rows->blob(1), series));
    }
  }
  for (const auto& [id, points] : found) {
    for (const Point& point : *points) put_row(connection_, series, point);
    connection_("DELETE FROM block WHERE id = ?1", id)->run();
  }
}

std::size_t SeriesBlocks::pack(std::int64_t series, Growth growth) {
  std::vector<std::vector<Point>> stretches(1);
  std::optional<StepKey> barred, last;
  std::size_t count = 0;
  const auto give_back = [&](StepKey step) {
    auto& points = stretches.back();
    while (!points.empty() && key_of(points.back()) == step) points.pop_back();
  };
  {
    const StepKey after =
        last_of(connection_, kLastOfBlocks, series).value_or(StepKey{INT64_MIN, INT64_MIN});
    const auto rows = connection_(
        "SELECT epoch, step, inner, ordinal, type, value, replay FROM value WHERE series = ?1 AND "
        "(epoch, step) > (?2, ?3) ORDER BY epoch, step, inner, ordinal",
        series, after.epoch, after.step);
    for (; rows->step(); ++count) {
      Point point = read_point(*rows, 0);
      last = key_of(point);
      if (rows->integer(6) != 0 || !is_packable(point.type)) {
        give_back(*last);
        barred = last;
        stretches.emplace_back();
      } else if (barred != last) {
        stretches.back().push_back(std::move(point));
      }
    }
  }
  if (growth == Growth::goes_on && last) give_back(*last);
  for (const std::vector<Point>& points : stretches) {
    if (points.size() < kBlockPointsMin) continue;
    connection_(
        "DELETE FROM value WHERE series = ?1 AND (epoch, step) >= (?2, ?3) AND (epoch, step) <= "
        "(?4, ?5)",
        series, points.front().epoch, points.front().step, points.back().epoch, points.back().step)
        ->run();
    append(series, points);
    count -= points.size();
  }
  return count;
}

void find_damaged_blocks(Connection& connection,
                         const std::function<void(std::string&& line)>& told) {
  const auto rows = connection(
      "SELECT content, first_epoch, first_step, last_epoch, last_step, count, series FROM block");
  while (rows->step()) {
    const std::int64_t series = rows->integer(6);
    try {
      const Points decoded = decode(connection, rows->blob(0), series);
      const std::vector<Point>& points = *decoded;
      const bool is_right = !points.empty() && std::ranges::is_sorted(points, precedes) &&
                            static_cast<std::int64_t>(points.size()) == rows->integer(5) &&
                            key_of(points.front()) == StepKey{rows->integer(1), rows->integer(2)} &&
                            key_of(points.back()) == StepKey{rows->integer(3), rows->integer(4)};
      if (!is_right) {
        told(fmt::format("the catalog's values of series {} are not where they should be", series));
      }
    } catch (const Damaged& error) {
      told(error.what());
    }
  }
}

SeriesReader::SeriesReader(Connection& connection, std::int64_t series, std::int64_t first_epoch,
                           std::int64_t last_epoch)
    : connection_(connection),
      rows_(connection(
          "SELECT epoch, step, inner, ordinal, type, value, replay FROM value WHERE series = ?1 "
          "AND epoch BETWEEN ?2 AND ?3 ORDER BY epoch, step, inner, ordinal",
          series, first_epoch, last_epoch)),
      blocks_(connection(
          "SELECT first_epoch, first_step, content FROM block WHERE series = ?1 AND last_epoch >= "
          "?2 AND first_epoch <= ?3 ORDER BY first_epoch, first_step",
          series, first_epoch, last_epoch)),
      series_(series),
      first_epoch_(first_epoch),
      last_epoch_(last_epoch) {
  read_row();
  find_block();
}

void SeriesReader::read_row() {
  row_.reset();
  if (rows_->step()) row_ = SeriesValue{read_point(*rows_, 0), rows_->integer(6)};
}

void SeriesReader::find_block() {
  has_block_ = blocks_->step();
  if (has_block_) block_first_ = {blocks_->integer(0), blocks_->integer(1)};
}

void SeriesReader::open_block() {
  points_ = decode(connection_, blocks_->blob(2), series_);
  const auto first = std::ranges::lower_bound(*points_, first_epoch_, {},
                                              [](const Point& it) { return it.epoch; });
  next_ = static_cast<std::size_t>(first - points_->begin());
  find_block();
}

bool SeriesReader::next(SeriesValue& value) {
  while (true) {
    if (points_ && next_ < points_->size() && (*points_)[next_].epoch <= last_epoch_) {
      value = {(*points_)[next_++], 0};
      return true;
    }
    if (has_block_ && (!row_ || block_first_ < key_of(row_->point))) {
      open_block();
      continue;
    }
    if (!row_) return false;
    value = *std::move(row_);
    read_row();
    return true;
  }
}

}  // namespace flor::store
