// Buckets that an attacker made: each is an honest one with a change.
#pragma once

#include "catalog_rows.h"
#include "crafted_bucket.h"
#include "database/open_file.h"
#include "database/schema.h"

#include <functional>
#include <string>
#include <vector>

namespace flor::remote::crafted {

struct HostileBucket {
  std::string name;
  bool own = false;  ///< the change is in a run that the victim recorded, and else in a foreign one
  std::function<void(ObjectStore& objects, const std::string& key)> craft;
  /// Nothing in it can be told from an honest bucket: it may be fetched, as a run of its own.
  bool passes = false;
};

/// A change of the catalog, by statements.
inline HostileBucket by_sql(std::string name, std::string sql, bool own = false,
                            bool passes = false) {
  return {std::move(name), own,
          [sql = std::move(sql)](ObjectStore& objects, const std::string& key) {
            with_catalog(objects, key, [&](store::Connection& to) { to.execute(sql.c_str()); });
          },
          passes};
}

/// Statements in the schema, or another schema.
inline void add_schemas(std::vector<HostileBucket>& list) {
  for (const char* table : {"checkpoint", "discarded", "chunk", "pack", "value", "series", "run",
                            "layout", "iteration", "replay", "job", "main_loop"}) {
    list.push_back(by_sql(
        fmt::format("an endless view instead of the table {}", table),
        fmt::format("ALTER TABLE {0} RENAME TO hidden; CREATE VIEW {0} AS WITH RECURSIVE r(i) AS "
                    "(SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT hidden.* FROM hidden, r WHERE "
                    "r.i < 0 OR random() = 0",
                    table)));
  }
  const std::pair<const char*, const char*> changes[] = {
      {"a view besides", "CREATE VIEW more AS SELECT * FROM run"},
      {"a view that loads a library",
       "ALTER TABLE discarded RENAME TO old; CREATE VIEW discarded AS SELECT *, "
       "load_extension('/tmp/x') FROM old"},
      {"a trigger", "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END"},
      {"a virtual table",
       "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'evil', 'evil', 0, "
       "'CREATE VIRTUAL TABLE evil USING fts5(x)')"},
      {"a virtual table for another",
       "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = 0, sql = 'CREATE VIRTUAL "
       "TABLE discarded USING dbstat' WHERE name = 'discarded'"},
      {"a table besides", "CREATE TABLE more (x)"},
      {"an index besides", "CREATE INDEX more ON value (value)"},
      {"an index over an expression", "CREATE INDEX more ON run (abs(id))"},
      {"an index less", "DROP INDEX chunk_by_base"},
      {"a generated column",
       "ALTER TABLE discarded ADD COLUMN more TEXT AS (hex(zeroblob(1000000000)))"},
      {"a column besides", "ALTER TABLE run ADD COLUMN more TEXT DEFAULT 'x'"},
      {"a column less", "ALTER TABLE run DROP COLUMN degraded"},
      {"a table less", "DROP TABLE layout"},
      {"a table under another name", "ALTER TABLE value RENAME TO valve"},
      {"a constraint that computes",
       "ALTER TABLE run ADD COLUMN more INTEGER CHECK (length(hex(zeroblob(10))) > 0)"},
      {"a table that is not strict",
       "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE "
       "name = 'chunk'"},
      {"two tables in the same pages",
       "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM "
       "sqlite_schema WHERE name = 'checkpoint') WHERE name = 'discarded'"},
      {"another application", "PRAGMA application_id = 7"},
      {"a later format", "PRAGMA user_version = 99"},
  };
  for (const auto& [name, sql] : changes) list.push_back(by_sql(name, sql));
}

/// Rows that cannot be, of what the reader follows or adds up.
inline void add_numbers(std::vector<HostileBucket>& list) {
  for (const auto& [column, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"base", "(SELECT max(id) FROM chunk WHERE depth > 0), depth = 1"},
           {"base", "id, depth = 1"},
           {"depth", "256 + depth"},
           {"depth", "-1"},
           {"depth", "64 + depth"},
           {"base", "1000000, depth = 1"},
           {"offset", "offset + 100000000"},
           {"offset", "-64"},
           {"offset", "9223372036854775807"},
           {"raw_bytes", "1000000000"},
           {"raw_bytes", "-1"},
           {"raw_bytes", "raw_bytes - 4"},
           {"stored_bytes", "1000000000"},
           {"stored_bytes", "9223372036854775807"},
           {"codec", "300"},
           {"type", "-7"},
           {"digest", "x'00' WHERE id = 1"},
           {"digest", "randomblob(16)"},
           {"pack", "77"}}) {
    list.push_back(by_sql(fmt::format("chunk.{} = {}", column, value),
                          fmt::format("UPDATE chunk SET {} = {}", column, value)));
  }
  for (const char* sql :
       {"UPDATE pack SET name = '../../../../../../etc/passwd' WHERE id = 1",
        "UPDATE pack SET name = '' WHERE id = 1", "UPDATE pack SET bytes = 1000000000000",
        "UPDATE pack SET bytes = -1", "DELETE FROM pack",
        "UPDATE checkpoint SET iteration = 9223372036854775807 WHERE id = 1",
        "UPDATE checkpoint SET chunks = x'ffffff7f'", "UPDATE checkpoint SET chunks = x'0102'",
        "UPDATE checkpoint SET layout = 77", "UPDATE main_loop SET first_epoch = -9",
        "UPDATE run SET key = 'ffffffffffffffff'"}) {
    list.push_back(by_sql(sql, sql));
  }
}

/// Content that is not what it is called.
inline void add_content(std::vector<HostileBucket>& list) {
  for (const char* sql :
       {"UPDATE layout SET items = x'00000000'", "UPDATE layout SET items = x'ffffffff'",
        "UPDATE layout SET items = zeroblob(200000)", "UPDATE layout SET digest = randomblob(16)",
        "UPDATE checkpoint SET digest = randomblob(16)",
        "UPDATE checkpoint SET chunks = (SELECT chunks FROM checkpoint WHERE iteration = 2)",
        "UPDATE checkpoint SET chunks = CAST(chunks || chunks AS BLOB)",
        "UPDATE checkpoint SET chunks = x''",
        "UPDATE object SET chunks = (SELECT max(chunks) FROM object)",
        "UPDATE object SET layout = (SELECT min(layout) FROM checkpoint)"}) {
    list.push_back(by_sql(sql, sql));
  }
  for (const auto& [least, most, bytes] :
       {std::tuple(0, 0, 0), std::tuple(1, 255, 0), std::tuple(0, 255, 100)}) {
    list.push_back(
        {fmt::format("poison in depths {} to {} from {} bytes on", least, most, bytes), false,
         [least = least, most = most, bytes = bytes](ObjectStore& objects, const std::string& key) {
           with_poison(objects, key, least, most, bytes);
         }});
  }
  using Bytes = std::vector<std::byte>;
  const std::pair<const char*, std::function<void(Bytes&)>> parcels[] = {
      {"a parcel of zeros", [](Bytes& it) { std::ranges::fill(it, std::byte{0}); }},
      {"a parcel cut off", [](Bytes& it) { it.resize(it.size() / 2); }},
      {"an empty parcel", [](Bytes& it) { it.clear(); }},
      {"a parcel whose records are reversed", [](Bytes& it) { std::ranges::reverse(it); }}};
  for (const auto& [name, change] : parcels) {
    list.push_back({name, false, [apply = change](ObjectStore& objects, const std::string& key) {
                      with_parcels(
                          objects, key,
                          [&](Bytes& parcel, store::Connection&, std::int64_t) { apply(parcel); });
                    }});
  }
  list.push_back({"parcels that were replaced by shorter ones", false,
                  [](ObjectStore& objects, const std::string&) {
                    for (const ObjectInfo& object : objects.list(kParcels)) {
                      objects.put(object.key, bytes("x"));
                    }
                  }});
  list.push_back({"no parcels", false, [](ObjectStore& objects, const std::string&) {
                    for (const ObjectInfo& object : objects.list(kParcels)) {
                      objects.remove(object.key);
                    }
                  }});
}

/// Catalogs and manifests that say how much is to come, or that come without end.
inline void add_objects(std::vector<HostileBucket>& list) {
  const auto object = [&](std::string name, std::function<std::vector<std::byte>()> make) {
    list.push_back({std::move(name), false,
                    [make = std::move(make)](ObjectStore& objects, const std::string& key) {
                      publish_object(objects, choose_run(objects, key), make());
                    }});
  };
  object("a catalog of 256 MiB of zeros",
         [] { return compressed(std::vector<std::byte>(std::size_t{256} << 20)); });
  object("a database of 256 MiB of zeros", [] {
    std::vector<std::byte> file(std::size_t{256} << 20);
    std::memcpy(file.data(), "SQLite format 3", 16);
    return compressed(file);
  });
  object("a frame that claims 3 GB and ends", [] {
    std::vector<std::byte> frame = compressed(std::vector<std::byte>(100'000, std::byte{7}));
    // Magic, a descriptor of a single segment with 8 bytes of size, the size.
    const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0xc0, 0, 0, 0, 0};
    std::memcpy(frame.data(), head, sizeof(head));
    return frame;
  });
  object("an empty catalog", [] { return std::vector<std::byte>(); });
  object("a catalog of random bytes", [] { return store::random_bytes(1, 50'000); });
  object("random bytes, compressed", [] { return compressed(store::random_bytes(1, 50'000)); });
  const std::pair<const char*, std::function<void(RemoteRun&)>> manifests[] = {
      {"a catalog elsewhere", [](RemoteRun& it) { it.catalog = "../../../../etc/passwd"; }},
      {"a leader elsewhere", [](RemoteRun& it) { it.leader = "../../x"; }},
      {"a state with an escape", [](RemoteRun& it) { it.state = "\x1b[31mfine"; }},
      {"negative epochs", [](RemoteRun& it) { it.epochs = -1; }},
      {"a rank beyond its world", [](RemoteRun& it) { it.rank = 3; }},
      {"a catalog beyond measure", [](RemoteRun& it) { it.catalog_bytes = UINT64_MAX; }},
      {"a catalog that is not there", [](RemoteRun& it) { it.catalog = std::string(64, '0'); }}};
  for (const auto& [name, change] : manifests) {
    list.push_back({name, false, [change = change](ObjectStore& objects, const std::string& key) {
                      RemoteRun run = choose_run(objects, key);
                      change(run);
                      objects.put(list_manifests(objects, key).back().key(),
                                  bytes(print_manifest(run)));
                    }});
  }
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"a manifest of brackets", std::string(900'000, '[')},
           {"a manifest that is no JSON", "{\"flor_manifest\": 1, \"run\": \"\xff\xfe"},
           {"an empty manifest", ""},
           {"a manifest of another format", "{\"flor_manifest\": 9}"},
           {"a manifest without end", std::string(4 << 20, ' ')}}) {
    list.push_back({name, false, [text = text](ObjectStore& objects, const std::string& key) {
                      objects.put(list_manifests(objects, key).back().key(), bytes(text));
                    }});
  }
}

/// Other facts of a run that the victim recorded.
inline void add_contradictions(std::vector<HostileBucket>& list) {
  const std::string newer =
      "INSERT INTO replay (run, started_us, segment, segments, first_epoch, last_epoch, strong, "
      "probes, program_digest, command, finished_us) SELECT id, 1, 0, 1, 0, 1, 0, '', '', '[]', 2 "
      "FROM run;";
  const std::pair<const char*, const char*> facts[] = {
      {"values", "UPDATE value SET value = value + 1000000 WHERE type = 2"},
      {"one value", "UPDATE value SET value = 7.5 WHERE type = 2 AND epoch = 1"},
      {"a value more",
       "INSERT INTO value SELECT series, 99, step, inner, ordinal, 0, type, value FROM value LIMIT "
       "1"},
      {"values in a block",
       "INSERT INTO block SELECT 1, id, 0, 0, 9, 9, 1, x'00' FROM series LIMIT 1"},
      {"the program", "UPDATE run SET program = '/bin/bash'"},
      {"the digest of the program", "UPDATE run SET program_digest = '5c'"},
      {"the command", "UPDATE run SET command = '[\"/bin/bash\", \"-c\", \"id\"]'"},
      {"the version", "UPDATE run SET version = '1234567890123456789012345678901234567890'"},
      {"the repository", "UPDATE run SET repository = '/'"},
      {"the directory", "UPDATE run SET directory = '/tmp'"},
      {"the start", "UPDATE run SET started_us = 7"},
      {"the end", "UPDATE run SET finished_us = finished_us + 1"},
      {"a failure", "UPDATE run SET failed = 1"},
      {"epochs", "UPDATE run SET epochs = epochs + 10"},
      {"the name", "UPDATE experiment SET name = 'other'"},
      {"the environment", "UPDATE environment SET json = '{\"LD_PRELOAD\":\"/tmp/x.so\"}'"},
      {"an argument", "UPDATE argument SET value = '0.7'"},
      {"an argument more",
       "INSERT INTO argument SELECT run, 'more', 7, type, value FROM argument LIMIT 1"},
      {"the number of iterations", "UPDATE main_loop SET iterations = iterations + 5"},
      {"the duration of an epoch", "UPDATE iteration SET seconds = 7 WHERE iteration = 1"},
      {"all states", "UPDATE checkpoint SET digest = randomblob(16)"},
      {"one state", "UPDATE checkpoint SET digest = randomblob(16) WHERE iteration = 1"},
      {"a resumption from the start",
       "INSERT INTO resumption SELECT id, 0, 7, 0, 0, 0, 1, '', 0, '', '', '[]' FROM run; UPDATE "
       "value SET value = 7.5 WHERE type = 2"}};
  for (const auto& [name, sql] : facts) {
    list.push_back(by_sql(fmt::format("another run: {}", name), sql, true));
    // The same of a run that claims to be newer.
    list.push_back(by_sql(fmt::format("another, newer run: {}", name), newer + sql, true));
  }
}

/// A removal, kinds that do not exist, tags that are none, far too many, and all of them said at
/// the end of time.
inline std::string strange_labels() {
  constexpr const char* kLabels =
      "(3, '', '1'), (0, 'good', '1'), (0, 'two words', '1'), (0, char(27, 93, 48), '1'), "
      "(0, 'a', 'b'), (1, '', 'a note'), (1, 'x', 'y'), (2, '', '-x'), (2, 'was', 'w'), "
      "(2, 'other', 'w'), (7, '', 'x'), (-1, 'x', 'x')";
  return fmt::format(
      "INSERT INTO label SELECT run.id, it.column1, it.column2, it.column3, 9223372036854775807 "
      "FROM run, (VALUES {0}) AS it; INSERT INTO label WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM r WHERE i < 20000) SELECT run.id, 0, 't' || i, '1', i FROM run, r; "
      "INSERT INTO label SELECT id, 0, hex(zeroblob(500000)), '1', 1 FROM run",
      kLabels);
}

/// What cannot be told from an honest run, and must stay harmless.
inline void add_strange_runs(std::vector<HostileBucket>& list) {
  list.push_back(by_sql("a name that leads elsewhere",
                        "UPDATE experiment SET name = '../../../etc/x'", false, true));
  list.push_back(by_sql("a name of controls",
                        "UPDATE experiment SET name = 'a' || char(27, 93, 48, 59, 7, 10, 13, 8238)",
                        false, true));
  list.push_back(by_sql("a name of a million letters",
                        "UPDATE experiment SET name = hex(zeroblob(500000))", false, true));
  list.push_back(by_sql("an environment that preloads a library",
                        "UPDATE environment SET json = '{\"LD_PRELOAD\":\"/tmp/x.so\"}'", false,
                        true));
  list.push_back(by_sql("labels that no command would say", strange_labels(), false, true));
}

/// A row in a table that has none, since only rows can be changed.
inline std::string first_row(const std::string& table, const std::vector<CatalogColumn>& columns) {
  std::string row;
  for (const auto& [name, type] : columns) {
    row += row.empty() ? "" : ", ";
    if (name == "run" || name == "leader") {
      row += "(SELECT id FROM run)";
    } else {
      row += type == "TEXT" ? "'[]'" : type == "BLOB" ? "zeroblob(16)" : "1";
    }
  }
  return fmt::format(
      "INSERT OR IGNORE INTO {0} SELECT {1} WHERE '{0}' <> 'block' AND NOT EXISTS (SELECT 1 FROM "
      "{0}); ",
      table, row);
}

/// A change of each row of a column, in SQL.
inline std::string change_of_column(store::Connection& schema, const std::string& table,
                                    const std::string& column, const std::string& content) {
  return fmt::format("{}UPDATE OR IGNORE {} SET \"{}\" = {}",
                     first_row(table, catalog_columns(schema, table)), table, column, content);
}

/// A number that SQL cannot say: it is there as another one, which is replaced in the file.
inline HostileBucket with_no_number(std::string name, std::string sql) {
  return {std::move(name), false,
          [sql = std::move(sql)](ObjectStore& objects, const std::string& key) {
            with_catalog(
                objects, key, [&](store::Connection& to) { to.execute(sql.c_str()); },
                [](std::string& file) {
                  const std::string stands_for("\x40\x09\x21\xfb\x54\x44\x2d\x18", 8);  // pi
                  const std::string no_number("\x7f\xf8\0\0\0\0\0\1", 8);
                  for (auto at = file.find(stands_for); at != file.npos;
                       at = file.find(stands_for, at)) {
                    file.replace(at, 8, no_number);
                  }
                });
          },
          true};
}

/// What a column of that type may not be able to hold, or its readers.
inline std::vector<std::string> extremes_of(const std::string& type) {
  std::vector<std::string> contents;
  const auto add = [&](std::initializer_list<const char*> more) {
    contents.insert(contents.end(), more.begin(), more.end());
  };
  const bool any = type == "ANY";
  if (type == "INTEGER" || any) {
    add({"0", "-1", "2147483648", "4611686018427387904", "9223372036854775807"});
  }
  if (type == "REAL" || any) {
    add({"9e999", "-9e999", "1e308", "-1e308", "-5.5", "5e-324", "9.3e18", "1e15"});
  }
  if (type == "TEXT" || any) {
    add({"'x'", "'a' || char(27, 93, 48, 59, 7, 10, 13, 155, 8238)", "hex(randomblob(524288))",
         "CAST(x'ff41c328' AS TEXT)"});
  }
  // What a program logs may be as long as it likes, up to what is unpacked of a catalog at all.
  if (type == "TEXT") add({"printf('%.*c', 8388608, 'x')"});
  return contents;
}

/// Each number of each table of a catalog at its extremes, and each text in forms that no reader
/// expects: what the schema has, so that a column which is added to it is among them.
inline std::vector<HostileBucket> each_column() {
  std::vector<HostileBucket> list;
  store::Connection schema(":memory:", store::Connection::Mode::create);
  schema.execute(store::kSchema);
  store::add_later_tables(schema, store::OpenMode::create, store::kLaterTables);
  for (const std::string& table : catalog_tables(schema)) {
    for (const auto& [name, type] : catalog_columns(schema, table)) {
      for (const std::string& content : extremes_of(type)) {
        list.push_back(by_sql(fmt::format("{}.{} = {}", table, name, content),
                              change_of_column(schema, table, name, content), false, true));
      }
      if (type != "REAL") continue;
      list.push_back(with_no_number(fmt::format("{}.{} is no number", table, name),
                                    change_of_column(schema, table, name, "3.141592653589793")));
    }
  }
  return list;
}

inline std::vector<HostileBucket> hostile_buckets() {
  std::vector<HostileBucket> list;
  add_schemas(list);
  add_numbers(list);
  add_content(list);
  add_objects(list);
  add_contradictions(list);
  add_strange_runs(list);
  return list;
}

}  // namespace flor::remote::crafted
