// A reader of stores that was written from docs/format.md and shares no code with Flor: if this
// test fails, either the format or the document has changed.
#include "store_fixture.h"

#include <sqlite3.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>
#include <map>

namespace flor::store {
namespace {

using Blob = std::string;  // of bytes

std::uint64_t number(const Blob& bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  return value;
}

Blob part(const Blob& bytes, std::size_t offset, std::size_t size) {
  return bytes.substr(offset, size);
}

Blob xxh3_128(const Blob& bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
}

std::uint64_t xxh3_64(const Blob& bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Blob join(const std::vector<Blob>& blobs) {
  Blob all;
  for (const Blob& blob : blobs) all += blob;
  return all;
}

struct Record {
  std::uint64_t codec = 0, type = 0, flags = 0, depth = 0;
  Blob digest, base, payload;
  std::uint64_t raw_bytes = 0;
};

/// A store, read by the book.
class MiniReader {
 public:
  explicit MiniReader(const std::filesystem::path& home) : home_(home) {
    sqlite3_open_v2((home / "catalog.db").c_str(), &database_, SQLITE_OPEN_READONLY, nullptr);
  }
  ~MiniReader() { sqlite3_close(database_); }
  MiniReader(const MiniReader&) = delete;
  MiniReader& operator=(const MiniReader&) = delete;

  /// Rows as columns of bytes; numbers as text.
  std::vector<std::vector<Blob>> rows(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_);
    std::vector<std::vector<Blob>> result;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      auto& row = result.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, i));
        row.emplace_back(bytes ? bytes : "",
                         static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
      }
    }
    sqlite3_finalize(statement);
    return result;
  }

  std::uint64_t integer(const std::string& sql) { return std::stoull(rows(sql).at(0).at(0)); }

  Blob pack(const std::string& name) const {
    std::ifstream file(home_ / "packs" / (name + ".pack"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static Record record(const Blob& pack, std::size_t offset) {
    const Blob header = part(pack, offset, 64);
    EXPECT_EQ(part(header, 0, 4), "FREC");
    EXPECT_EQ(number(header, 56, 8), xxh3_64(part(header, 0, 56)));
    Record record;
    record.codec = number(header, 4, 1);
    record.type = number(header, 5, 1);
    record.flags = number(header, 6, 1);
    record.depth = number(header, 7, 1);
    record.raw_bytes = number(header, 8, 4);
    record.digest = part(header, 16, 16);
    record.base = part(header, 32, 16);
    record.payload = part(pack, offset + 64, number(header, 12, 4));
    EXPECT_EQ(number(header, 48, 8), xxh3_64(record.payload));
    return record;
  }

 private:
  std::filesystem::path home_;
  sqlite3* database_ = nullptr;
};

class FormatTest : public StoreTest {};

TEST_F(FormatTest, AReaderWrittenFromTheDocumentReadsACheckpoint) {
  Snapshot snapshot;
  // Noise, which is stored as it is (codec 0).
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{2'500'000}}) {
    const auto one = bytes_snapshot("item/" + std::to_string(size),
                                    random_bytes(static_cast<unsigned>(size) + 1, size));
    snapshot.items.push_back(one.items[0]);
  }
  snapshot.items[2].item.type = ElementType::u8;
  snapshot.items[2].item.sizes = {2500, 1000};
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter(*store, run.id).write({CheckpointKind::loop_end, 0, 3, "train"}, snapshot);
  }

  MiniReader reader(home());
  EXPECT_EQ(reader.integer("PRAGMA application_id"), 0x464C4F52u);
  EXPECT_EQ(reader.integer("PRAGMA user_version"), 2u);
  const auto row = reader.rows(
      "SELECT checkpoint.chunks, layout.items, checkpoint.digest FROM checkpoint JOIN layout "
      "ON layout.id = checkpoint.layout WHERE kind = 1 AND iteration = 3 AND loop = 'train'");
  ASSERT_EQ(row.size(), 1u);
  const Blob &ids = row[0][0], &layout = row[0][1];

  std::size_t at = 4, next = 0;
  std::vector<Blob> digests = {layout};
  ASSERT_EQ(number(layout, 0, 4), snapshot.items.size());
  for (const SnapshotItem& expected : snapshot.items) {
    const std::size_t name_size = number(layout, at, 4);
    EXPECT_EQ(part(layout, at + 4, name_size), expected.item.name);
    at += 4 + name_size;
    EXPECT_EQ(number(layout, at, 1), static_cast<unsigned>(expected.item.type));
    const std::size_t rank = number(layout, at + 1, 1);
    ASSERT_EQ(rank, expected.item.sizes.size());
    at += 2;
    for (std::size_t d = 0; d < rank; ++d, at += 8) {
      EXPECT_EQ(number(layout, at, 8), static_cast<std::uint64_t>(expected.item.sizes[d]));
    }
    const std::uint64_t bytes = number(layout, at, 8);
    at += 8;

    std::vector<Blob> chunk_digests, contents;
    for (std::uint64_t done = 0; done < bytes; done += 1'048'576, ++next) {
      const auto chunk = reader.rows(
          "SELECT pack.name, chunk.offset, chunk.digest FROM chunk JOIN pack ON "
          "pack.id = chunk.pack WHERE chunk.id = " +
          std::to_string(number(ids, 4 * next, 4)));
      ASSERT_EQ(chunk.size(), 1u);
      const Blob pack = reader.pack(chunk[0][0]);
      const Record record = MiniReader::record(pack, std::stoull(chunk[0][1]));
      ASSERT_EQ(record.codec, 0u);
      EXPECT_EQ(record.flags, 0u);
      EXPECT_EQ(record.type, static_cast<unsigned>(expected.item.type));
      EXPECT_EQ(record.raw_bytes, std::min<std::uint64_t>(bytes - done, 1'048'576));
      EXPECT_EQ(record.digest, chunk[0][2]);
      EXPECT_EQ(xxh3_128(record.payload), record.digest);
      chunk_digests.push_back(record.digest);
      contents.push_back(record.payload);
    }
    const Blob content = join(contents);
    ASSERT_EQ(content.size(), expected.item.bytes);
    if (!content.empty()) {
      EXPECT_EQ(std::memcmp(content.data(), expected.content.get(), content.size()), 0);
    }
    digests.push_back(chunk_digests.size() == 1 ? chunk_digests[0] : xxh3_128(join(chunk_digests)));
  }
  EXPECT_EQ(at, layout.size());
  EXPECT_EQ(4 * next, ids.size());
  EXPECT_EQ(xxh3_128(join(digests)), row[0][2]);
}

TEST_F(FormatTest, TheChunkTableCanBeRebuiltFromThePacks) {
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 4; ++step) writer.write(boundary(step), make_snapshot(1, step));
  }
  MiniReader reader(home());
  std::map<Blob, Record> found;
  for (const auto& row : reader.rows("SELECT name, bytes FROM pack")) {
    const std::string name = row[0];
    const Blob pack = reader.pack(name);
    EXPECT_EQ(part(pack, 0, 8), "FLORPACK");
    EXPECT_EQ(number(pack, 8, 2), 2u);
    EXPECT_EQ(number(pack, 10, 2), 0u) << "recorded here";
    EXPECT_EQ(number(pack, 12, 4), 32u);
    EXPECT_EQ(number(pack, 16, 8), std::stoull(name, nullptr, 16));
    EXPECT_EQ(number(pack, 24, 8), xxh3_64(part(pack, 0, 24)));
    const std::size_t end = std::stoull(row[1]);
    EXPECT_EQ(end, pack.size());
    for (std::size_t at = 32; at < end;) {
      const Record record = MiniReader::record(pack, at);
      at += 64 + record.payload.size();
      found.emplace(record.digest, record);
    }
  }
  const auto chunks = reader.rows(
      "SELECT chunk.digest, chunk.depth, base.digest FROM chunk "
      "LEFT JOIN chunk AS base ON base.id = chunk.base");
  EXPECT_EQ(chunks.size(), found.size());
  int differences = 0;
  for (const auto& chunk : chunks) {
    const Record& record = found.at(chunk[0]);
    EXPECT_EQ(std::to_string(record.depth), chunk[1]);
    EXPECT_EQ(record.flags, chunk[2].empty() ? 0u : 1u);
    EXPECT_EQ(record.base, chunk[2].empty() ? Blob(16, '\0') : chunk[2]);
    differences += chunk[2].empty() ? 0 : 1;
  }
  EXPECT_GT(differences, 0);
}

}  // namespace
}  // namespace flor::store
