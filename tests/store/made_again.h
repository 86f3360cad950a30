// The journals are the truth: after whatever has happened to a store, an index that is made from
// them says the same as the one that there is.
#pragma once

#include "database/manifest.h"
#include "database/store_impl.h"
#include "index/copies/table_copy.h"
#include "index/refresh.h"

#include <flor/store/store.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// What a column has instead of the number of a row, which means something in one index alone.
inline std::string said_of(const std::string& table, const std::string& column) {
  static const std::map<std::string, std::string> kReferences = {
      {"run", "(SELECT key FROM run WHERE id = t.run)"},
      {"leader", "(SELECT key FROM run WHERE id = t.leader)"},
      {"experiment", "(SELECT name FROM experiment WHERE id = t.experiment)"},
      {"environment", "(SELECT json FROM environment WHERE id = t.environment)"},
      {"recipe", "(SELECT json FROM recipe WHERE id = t.recipe)"},
      {"replay", "(SELECT key FROM replay_key WHERE replay = t.replay)"},
      {"series",
       "(SELECT (SELECT key FROM run WHERE id = series.run) || ' ' || name || ' ' || path FROM "
       "series WHERE id = t.series)"},
      {"layout", "(SELECT hex(digest) FROM layout WHERE id = t.layout)"},
      {"chunk", "(SELECT hex(digest) FROM chunk WHERE id = t.chunk)"}};
  const auto reference = kReferences.find(column);
  const bool named = table == "repository" && column == "experiment";
  return reference == kReferences.end() || named ? "t." + column : reference->second;
}

/// Of whose tables no journal speaks, or which say what the others do, or how it is kept.
inline bool is_of_runs(const std::string& table) {
  static const std::set<std::string> kOthers = {
      "evaluator", "job", "job_result", "fetched_result", "evaluation_log",
      // In an index as it was before the queue had a file of its own.
      "watch", "sighting", "watcher", "watcher_place", "queue", "queue_job", "journal", "pack",
      "chunk", "layout", "experiment", "environment", "recipe", "series", "replay_key",
      "foreign_chunk", "home", "announcement",
      // What is in the two is one thing: every_value.
      "value", "block"};
  return !kOthers.contains(table) && !table.starts_with("sqlite_");
}

/// The rest of a row: contents as the digests of their chunks, whose numbers differ, too.
inline std::string chunks_of(Connection& index, Bytes ids) {
  std::string text;
  for (const std::uint32_t id : decode_ids(ids)) {
    const auto row = index("SELECT hex(digest) FROM chunk WHERE id = ?1", std::int64_t{id});
    text += row->step() ? " " + row->text(0) : " (none)";
  }
  return text;
}

/// Every row that says something of runs, as a line.
inline std::vector<std::string> known_of_runs(const Store& store) {
  Connection& index = store.impl().database->connection;
  std::vector<std::string> tables, lines;
  {
    const auto rows = index("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (rows->step()) tables.push_back(rows->text(0));
  }
  tables.push_back("every_value");
  for (const std::string& table : tables) {
    if (!is_of_runs(table)) continue;
    std::string said = table == "every_value" ? "'value'" : fmt::format("'{}'", table),
                chunks = "x''";
    for (const std::string& column : columns_of(index, table)) {
      if (column == "chunks") chunks = "t.chunks";
      if (column == "id" || column == "chunks") continue;
      said += fmt::format(" || ' {}=' || quote({})", column, said_of(table, column));
    }
    // An object that no value names is kept until garbage is collected, and no longer.
    const char* where = table == "object"
                            ? "lower(hex(digest)) IN (SELECT value FROM value WHERE type IN (5, 7))"
                            : "1";
    const auto rows =
        index(fmt::format("SELECT {}, {} FROM {} t WHERE {}", said, chunks, table, where));
    while (rows->step()) lines.push_back(rows->text(0) + chunks_of(index, rows->blob(1)));
  }
  std::ranges::sort(lines);
  return lines;
}

/// Digests of what another machine named, which is compared before it is believed.
inline std::set<std::string> foreign_chunks(const Store& store) {
  std::set<std::string> digests;
  const auto rows = store.impl().database->connection(
      "SELECT hex(digest) FROM foreign_chunk JOIN chunk ON chunk.id = foreign_chunk.chunk");
  while (rows->step()) digests.insert(rows->text(0));
  return digests;
}

/// A copy of the home, whose index is gone and made again, says the same of all runs, has all of
/// their content, and believes no more of it. Nothing may write into the store meanwhile.
inline void expect_same_when_made_again(const Store& now) {
  namespace fs = std::filesystem;
  const fs::path& home = now.home();
  const fs::path copy = home.parent_path() / (home.filename().string() + ".again");
  fs::remove_all(copy);
  fs::create_directories(copy);
  for (const char* part : {"packs", "runs", "locks"}) {
    if (!fs::exists(home / part)) continue;
    fs::copy(home / part, copy / part,
             fs::copy_options::recursive | fs::copy_options::create_hard_links);
  }
  const auto before = known_of_runs(now);
  {
    const RefreshReport report = rebuild(Paths{copy}, Filesystem::system());
    EXPECT_TRUE(report.damage.empty()) << fmt::format("{}", fmt::join(report.damage, "\n"));
    const auto again = Store::open(copy, OpenMode::read_only);
    const auto after = known_of_runs(*again);
    std::vector<std::string> lost, new_ones;
    std::ranges::set_difference(before, after, std::back_inserter(lost));
    std::ranges::set_difference(after, before, std::back_inserter(new_ones));
    EXPECT_TRUE(lost.empty() && new_ones.empty())
        << "an index that is made again lacks\n"
        << fmt::format("{}\nand has\n{}", fmt::join(lost, "\n"), fmt::join(new_ones, "\n"));
    std::string damage;
    for (const Finding& each : check(*again, true).findings) damage += each.what + "\n";
    EXPECT_EQ(damage, "") << "in an index that is made again";
    std::set<std::string> doubted = foreign_chunks(now);
    std::erase_if(doubted, [&](const std::string& digest) {
      const auto row =
          again->impl().database->connection("SELECT 1 FROM chunk WHERE hex(digest) = ?1", digest);
      return !row->step();
    });
    EXPECT_EQ(foreign_chunks(*again), doubted) << "what came from elsewhere is not known as that";
  }
  fs::remove_all(copy);
}
inline void expect_same_when_made_again(const std::filesystem::path& home) {
  expect_same_when_made_again(*Store::open(home, OpenMode::read_only));
}

}  // namespace flor::store
