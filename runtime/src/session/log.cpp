#include "base/notice.h"
#include "session/runtime.h"

#include <flor/adapter.h>
#include <flor/log.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <string>

namespace flor::detail {
namespace {

/// Number of different refusals that are said once; others are said each time.
constexpr std::size_t kSaidMax = 1000;

/// A replay steps over elements of a main loop, so it would log fewer values, at other places. What
/// a plug-in logs there is its own.
void refuse_between_epochs(Runtime& session) {
  if (session.own_thread() && session.is_between_epochs() && !session.journal().place().plugged)
      [[unlikely]] {
    throw UsageError(
        "it is logged by the range of a main loop, over whose elements a replay steps: log it in "
        "the loop's body, or before the loop");
  }
}

void refuse_at_pinned(std::string_view name) {
  if (inside_pinned) [[unlikely]] {
    throw UsageError(
        "it is logged by the function of flor::pinned, which a replay does not call: log it after "
        "that");
  }
  if (name.starts_with(kPinnedPrefix)) [[unlikely]] {
    throw UsageError(
        fmt::format("names that begin with {} are those of pinned values", kPinnedPrefix));
  }
}

/// Calls `append` with the session's journal, if there is a session. A failure is reported, never
/// thrown.
template <typename Append>
void with_journal(std::string_view name, Append&& append) noexcept {
  Runtime* session = runtime();
  if (!session) return;
  const Inside inside;
  try {
    refuse_at_pinned(name);
    refuse_between_epochs(*session);
    append(session->journal());
  } catch (const std::exception& error) {
    log_refused(name, error.what());
  }
}

nlohmann::ordered_json number_or_text(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string histogram_json(std::span<const double> values, int bins) {
  if (bins < 1) throw Error(fmt::format("a histogram needs at least one bin, not {}", bins));
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t nan = 0, positive = 0, negative = 0;
  for (const double value : values) {
    if (std::isnan(value)) {
      ++nan;
    } else if (std::isinf(value)) {
      ++(value > 0 ? positive : negative);
    } else {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins));
  std::vector<double> edges;
  if (low <= high) {
    const double width = (high / bins - low / bins);
    for (int i = 0; i <= bins; ++i) edges.push_back(i == bins ? high : low + width * i);
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      const double bin = width > 0 ? std::floor((value - low) / width) : 0;
      ++counts[static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1.0))];
    }
  } else {
    counts.clear();
  }
  nlohmann::ordered_json json;
  json["edges"] = edges;
  json["counts"] = counts;
  if (nan) json["nan"] = nan;
  if (positive) json["inf"] = positive;
  if (negative) json["-inf"] = negative;
  return json.dump();
}

std::string table_json(const Table& table) {
  for (const auto& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw Error(fmt::format("a table with {} columns has a row of {} numbers",
                              table.columns.size(), row.size()));
    }
  }
  if (!table.row_names.empty() && table.row_names.size() != table.rows.size()) {
    throw Error(fmt::format("a table with {} rows has {} row names", table.rows.size(),
                            table.row_names.size()));
  }
  nlohmann::ordered_json json;
  json["columns"] = table.columns;
  if (!table.row_names.empty()) json["row_names"] = table.row_names;
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto cells = nlohmann::ordered_json::array();
    for (const double cell : row) cells.push_back(number_or_text(cell));
    json["rows"].push_back(std::move(cells));
  }
  return json.dump();
}

void check_content(bool image, const store::Item& item, std::size_t bytes) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : item.sizes) {
    if (size < 0) throw Error("a size is negative");
    elements *= static_cast<std::uint64_t>(size);
  }
  if (elements * store::element_size(item.type) != bytes) {
    throw Error(fmt::format("the sizes make {} elements, but there are {} bytes", elements, bytes));
  }
  const bool picture = item.sizes.size() == 3 && item.type == store::ElementType::u8 &&
                       (item.sizes[2] == 1 || item.sizes[2] == 3 || item.sizes[2] == 4);
  if (image && !picture) throw Error("an image is u8 [height, width, 1 or 3 or 4 channels]");
}

}  // namespace

void log_refused(std::string_view name, std::string_view reason) noexcept {
  static std::mutex mutex;
  static std::set<std::string> said;
  try {
    std::string line = fmt::format("flor::log(\"{}\"): {}", name, reason);
    {
      const std::lock_guard lock(mutex);
      if (said.size() < kSaidMax && !said.insert(line).second) return;
    }
    say(Level::error, line);
  } catch (...) {  // a lost notice is no reason to disturb the training
  }
}

bool logging() noexcept { return runtime() != nullptr; }

void log_boolean(std::string_view name, bool value) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_number(name, store::ValueType::boolean, value ? 1 : 0);
  });
}

void log_integer(std::string_view name, std::int64_t value) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_number(name, store::ValueType::integer, std::bit_cast<std::uint64_t>(value));
  });
}

void log_real(std::string_view name, double value) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_number(name, store::ValueType::real, std::bit_cast<std::uint64_t>(value));
  });
}

void log_text(std::string_view name, std::string_view value) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_text(name, store::ValueType::text, std::string(value));
  });
}

void log_json(std::string_view name, std::string_view text) noexcept {
  with_journal(name, [&](Journal& journal) {
    if (!nlohmann::json::accept(text)) throw Error("the text is not JSON: it was not kept");
    journal.add_text(name, store::ValueType::json, std::string(text));
  });
}

void log_content(std::string_view name, bool image, const store::Item& item,
                 std::span<const std::byte> content) noexcept {
  with_journal(name, [&](Journal& journal) {
    check_content(image, item, content.size());
    journal.add_content(name, image ? store::ValueType::image : store::ValueType::tensor,
                        {item, {content.begin(), content.end()}});
  });
}

void log_histogram(std::string_view name, std::span<const double> values, int bins) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_text(name, store::ValueType::histogram, histogram_json(values, bins));
  });
}

void log_table(std::string_view name, const Table& table) noexcept {
  with_journal(name, [&](Journal& journal) {
    journal.add_text(name, store::ValueType::table, table_json(table));
  });
}

}  // namespace flor::detail
