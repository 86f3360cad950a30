#include "remote/contents.h"

#include "database/manifest.h"
#include "index/copies/row_copy.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::remote {
namespace {

using store::Connection;
using store::Query;

constexpr const char* kContentColumns =
    "{0}.id, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, {0}.digest, "
    "layout, chunks";

Content read_content(const Query& row) {
  Content content;
  content.id = row.integer(0);
  content.key = {static_cast<store::CheckpointKind>(row.integer(1)), row.integer(2), row.integer(3),
                 row.text(4)};
  content.created_us = row.integer(5);
  content.raw_bytes = row.integer(6);
  content.stored_bytes = row.integer(7);
  content.digest = row.digest(8);
  return content;
}

/// Returns the ids of these chunks in `to`, encoded.
std::vector<std::byte> ids_in(Connection& to, const std::vector<Digest>& chunks) {
  std::vector<std::uint32_t> ids;
  ids.reserve(chunks.size());
  for (const Digest& digest : chunks) {
    const auto row = to("SELECT id FROM chunk WHERE digest = ?1", digest);
    if (!row->step()) {
      throw Damaged(fmt::format("the chunk {} has no row in the catalog", digest.hex()));
    }
    ids.push_back(static_cast<std::uint32_t>(row->integer(0)));
  }
  return store::encode_ids(ids);
}

void add_with_bases(const Records& from, const Digest& digest, Records& to) {
  if (to.contains(digest)) return;
  const Record& record = from.at(digest);
  if (record.has_base()) add_with_bases(from, record.base, to);
  to.add(record);
}

void put_pruned(Connection& to, std::int64_t run, const Content& content) {
  to.execute(store::create_statement(kPrunedTable).c_str());
  to("INSERT INTO pruned VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", run,
     static_cast<std::int64_t>(content.key.kind), content.key.main_loop, content.key.iteration,
     content.key.loop, content.digest, content.discarded_us)
      ->run();
}

}  // namespace

Content Content::outline() const {
  Content outline;
  outline.key = key;
  outline.created_us = created_us;
  outline.discarded_us = discarded_us;
  outline.raw_bytes = raw_bytes;
  outline.stored_bytes = stored_bytes;
  outline.digest = digest;
  return outline;
}

bool Record::is_described_by(const store::RecordHeader& header) const {
  return header.digest == digest && header.raw_bytes == raw_bytes &&
         header.stored_bytes == stored_bytes && header.codec == codec && header.type == type &&
         header.depth == depth && header.uses_base == has_base() &&
         (!has_base() || header.base == base);
}

bool Record::is_same_record(const Record& other) const {
  return digest == other.digest && base == other.base && raw_bytes == other.raw_bytes &&
         stored_bytes == other.stored_bytes && codec == other.codec && type == other.type &&
         depth == other.depth;
}

void Records::add(const Record& record) {
  if (places_.emplace(record.digest, list_.size()).second) list_.push_back(record);
}

ContentReader::ContentReader(Connection& connection, std::int64_t run)
    : connection_(connection), run_(run) {}

Damaged ContentReader::damaged(std::string_view what) const {
  return Damaged(
      fmt::format("{} {}: {}", connection_.naming().name, what, connection_.naming().remedy));
}

const Digest& ContentReader::load(std::uint32_t id, int depth_max) const {
  const auto known = digests_.find(id);
  if (known != digests_.end()) return known->second;
  Record record;
  std::uint32_t base = 0;
  {
    const auto row = connection_(
        "SELECT digest, pack.name, offset, raw_bytes, stored_bytes, codec, type, depth, base FROM "
        "chunk JOIN pack ON pack.id = chunk.pack WHERE chunk.id = ?1",
        std::int64_t{id});
    if (!row->step()) {
      throw damaged(fmt::format("lacks chunk {}", id));
    }
    record.digest = row->digest(0);
    record.parcel = row->text(1);
    record.offset = static_cast<std::uint64_t>(row->integer(2));
    record.raw_bytes = static_cast<std::uint32_t>(row->integer(3));
    record.stored_bytes = static_cast<std::uint32_t>(row->integer(4));
    record.codec = static_cast<std::uint8_t>(row->integer(5));
    record.type = static_cast<store::ElementType>(row->integer(6));
    record.depth = static_cast<std::uint8_t>(row->integer(7));
    base = static_cast<std::uint32_t>(row->integer(8));
  }
  if (record.raw_bytes > store::kChunkBytes || record.stored_bytes > store::kPayloadBytesMax ||
      record.has_base() != (base != 0)) {
    throw damaged("describes a chunk that cannot be");
  }
  // A base must have a smaller depth than the record built on it, so that chains cannot be
  // circular.
  if (record.depth > depth_max) {
    throw damaged("has a chunk whose base is of the wrong depth");
  }
  if (base != 0) {
    record.base = load(base, record.depth - 1);
    if (records_.at(record.base).depth >= record.depth) {
      throw damaged("has a chunk whose base is of the wrong depth");
    }
  }
  const Digest digest = record.digest;
  records_.emplace(digest, std::move(record));
  return digests_.emplace(id, digest).first->second;
}

std::vector<Digest> ContentReader::digests_of(store::Bytes ids) const {
  std::vector<Digest> digests;
  constexpr int kAnyDepth = UINT8_MAX;
  for (const std::uint32_t id : store::decode_ids(ids)) digests.push_back(load(id, kAnyDepth));
  return digests;
}

void ContentReader::read_layout(std::int64_t id, Content& content) const {
  auto known = layouts_.find(id);
  if (known == layouts_.end()) {
    const auto row = connection_("SELECT digest, items FROM layout WHERE id = ?1", id);
    if (!row->step()) throw damaged(fmt::format("lacks layout {}", id));
    const store::Bytes blob = row->blob(1);
    Layout layout{row->digest(0),
                  std::make_shared<const std::vector<std::byte>>(blob.begin(), blob.end())};
    known = layouts_.emplace(id, std::move(layout)).first;
  }
  content.layout = known->second.digest;
  content.items = known->second.items;
}

void ContentReader::check(const Content& content) const {
  if (store::digest_of(*content.items) != content.layout) {
    throw damaged("has a layout that does not have its digest");
  }
  try {
    store::decode_layout(*content.items);
  } catch (const Damaged&) {
    throw damaged("has a layout that cannot be read");
  }
  std::vector<store::SizedChunk> chunks;
  chunks.reserve(content.chunks.size());
  for (const Digest& digest : content.chunks) {
    chunks.push_back({digest, records_.at(digest).raw_bytes});
  }
  try {
    store::check_content(*content.items, chunks, content.digest);
  } catch (const Damaged& error) {
    const bool is_checkpoint = content.id != 0;
    throw damaged(fmt::format(
        "has {}, which is not what it claims ({})",
        is_checkpoint ? store::describe(content.key) : "the logged object " + content.digest.hex(),
        error.what()));
  }
}

std::vector<Content> ContentReader::checkpoints() const {
  std::vector<Content> list;
  const auto rows =
      connection_("SELECT " + fmt::format(fmt::runtime(kContentColumns), "checkpoint") +
                      " FROM checkpoint WHERE run = ?1 ORDER BY checkpoint.id",
                  run_);
  while (rows->step()) {
    Content& content = list.emplace_back(read_content(*rows));
    read_layout(rows->integer(9), content);
    content.chunks = digests_of(rows->blob(10));
  }
  return list;
}

std::vector<Content> ContentReader::discarded() const {
  std::vector<Content> list;
  const auto rows = connection_(
      "SELECT id, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, "
      "discarded_us FROM discarded WHERE run = ?1 ORDER BY id",
      run_);
  while (rows->step()) {
    Content& content = list.emplace_back(read_content(*rows));
    content.discarded_us = rows->integer(9);
  }
  return list;
}

std::vector<Content> ContentReader::pruned() const {
  std::vector<Content> list;
  if (!connection_("SELECT 1 FROM sqlite_schema WHERE name = 'pruned'")->step()) return list;
  const auto rows = connection_(
      "SELECT 0, kind, main_loop, iteration, loop, 0, 0, 0, digest, pruned_us FROM pruned WHERE "
      "run = ?1",
      run_);
  while (rows->step()) {
    Content& content = list.emplace_back(read_content(*rows));
    content.discarded_us = rows->integer(9);
  }
  return list;
}

std::set<Digest> ContentReader::named_objects() const {
  std::set<Digest> named;
  const auto values = connection_(
      "SELECT DISTINCT value FROM value JOIN series ON series.id = value.series WHERE run = ?1 AND "
      "value.type IN (5, 7)",
      run_);
  while (values->step()) {
    if (const auto digest = Digest::from_hex(values->text_view(0))) named.insert(*digest);
  }
  return named;
}

std::vector<Content> ContentReader::objects() const {
  std::vector<Content> list;
  for (const Digest& digest : named_objects()) {
    const auto row =
        connection_("SELECT raw_bytes, layout, chunks FROM object WHERE digest = ?1", digest);
    if (!row->step()) continue;  // the tensor of this value could not be stored
    Content& content = list.emplace_back();
    content.digest = digest;
    content.raw_bytes = row->integer(0);
    read_layout(row->integer(1), content);
    content.chunks = digests_of(row->blob(2));
  }
  return list;
}

const Record* ContentReader::find(const Digest& digest) const {
  const auto found = records_.find(digest);
  return found == records_.end() ? nullptr : &found->second;
}

void ContentReader::add_records(const std::vector<Digest>& chunks, Records& records) const {
  for (const Digest& digest : chunks) add_record(digest, records);
}

void ContentReader::add_record(const Digest& digest, Records& records) const {
  if (records.contains(digest)) return;
  const Record& record = records_.at(digest);
  if (record.has_base()) add_record(record.base, records);
  records.add(record);
}

ParcelBytes parcel_lengths(Connection& catalog) {
  ParcelBytes lengths;
  const auto rows = catalog("SELECT name, bytes FROM pack");
  while (rows->step()) lengths[rows->text(0)] = static_cast<std::uint64_t>(rows->integer(1));
  return lengths;
}

void RunContents::add(const ContentReader& reader, Content content) {
  reader.add_records(content.chunks, records);
  checkpoints.push_back(std::move(content));
}

void put_records(Connection& to, const Records& records, const ParcelBytes& parcel_bytes) {
  std::map<std::string, std::int64_t> packs;
  for (const Record& record : records.list()) {
    std::int64_t& pack = packs[record.parcel];
    if (pack == 0) {
      to("INSERT OR IGNORE INTO pack (name, bytes, created_us) VALUES (?1, ?2, 0)", record.parcel,
         static_cast<std::int64_t>(parcel_bytes.at(record.parcel)))
          ->run();
      const auto row = to("SELECT id FROM pack WHERE name = ?1", record.parcel);
      row->step();
      pack = row->integer(0);
    }
    const auto insert = to(
        "INSERT OR IGNORE INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, type, "
        "depth, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, CASE WHEN ?8 > 0 THEN (SELECT id "
        "FROM chunk WHERE digest = ?9) END)",
        record.digest, pack, static_cast<std::int64_t>(record.offset),
        std::int64_t{record.raw_bytes}, std::int64_t{record.stored_bytes},
        std::int64_t{record.codec}, static_cast<std::int64_t>(record.type),
        std::int64_t{record.depth}, record.base);
    insert->run();
  }
}

void put_contents(Connection& to, std::int64_t run, const RunContents& contents,
                  const ParcelBytes& parcel_bytes, RemoteRun& numbers) {
  const auto in_order = [](std::vector<Content> list) {
    std::ranges::sort(list, {}, [](const Content& content) {
      return std::pair(content.created_us, content.name());
    });
    return list;
  };
  const std::vector<Content> checkpoints = in_order(contents.checkpoints);
  const std::vector<Content> objects = in_order(contents.objects);
  Records needed;
  const auto need = [&](const std::vector<Content>& list) {
    for (const Content& content : list) {
      for (const Digest& digest : content.chunks) add_with_bases(contents.records, digest, needed);
    }
  };
  need(checkpoints);
  need(objects);
  put_records(to, needed, parcel_bytes);
  numbers.checkpoints = static_cast<std::int64_t>(checkpoints.size());
  numbers.raw_bytes = numbers.stored_bytes = 0;
  for (const Record& record : needed.list()) numbers.stored_bytes += record.bytes();
  for (const Content& content : checkpoints) {
    put_checkpoint(to, run, content);
    numbers.raw_bytes += static_cast<std::uint64_t>(content.raw_bytes);
  }
  for (const Content& content : in_order(contents.gone)) put_discarded(to, run, content);
  for (const Content& content : in_order(contents.pruned)) put_pruned(to, run, content);
  for (const Content& content : objects) put_object(to, content);
  to("UPDATE run SET checkpoints = ?2, raw_bytes = ?3 WHERE id = ?1", run, numbers.checkpoints,
     static_cast<std::int64_t>(numbers.raw_bytes))
      ->run();
}

void put_checkpoint(Connection& to, std::int64_t run, const Content& content) {
  const std::vector<std::byte> ids = ids_in(to, content.chunks);
  to("INSERT INTO checkpoint (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
     "stored_bytes, digest, layout, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
     run, static_cast<std::int64_t>(content.key.kind), content.key.main_loop, content.key.iteration,
     content.key.loop, content.created_us, content.raw_bytes, content.stored_bytes, content.digest,
     store::put_layout(to, content.layout, *content.items), store::Bytes(ids))
      ->run();
}

void put_discarded(Connection& to, std::int64_t run, const Content& content) {
  // The id must be one that no checkpoint has or will get.
  to("INSERT INTO discarded (id, run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
     "stored_bytes, digest, layout, chunks, discarded_us, collected_us) VALUES ((SELECT 1 + "
     "max(coalesce((SELECT max(id) FROM discarded), 0), coalesce((SELECT seq FROM sqlite_sequence "
     "WHERE name = 'checkpoint'), 0))), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, x'', ?10, ?10)",
     run, static_cast<std::int64_t>(content.key.kind), content.key.main_loop, content.key.iteration,
     content.key.loop, content.created_us, content.raw_bytes, content.stored_bytes, content.digest,
     content.discarded_us)
      ->run();
  to("INSERT INTO sqlite_sequence (name, seq) SELECT 'checkpoint', 0 WHERE NOT EXISTS (SELECT 1 "
     "FROM sqlite_sequence WHERE name = 'checkpoint')")
      ->run();
  to("UPDATE sqlite_sequence SET seq = max(seq, (SELECT max(id) FROM discarded)) WHERE name = "
     "'checkpoint'")
      ->run();
}

bool put_object(Connection& to, const Content& content) {
  const std::vector<std::byte> ids = ids_in(to, content.chunks);
  const auto insert =
      to("INSERT OR IGNORE INTO object (digest, raw_bytes, layout, chunks) VALUES (?1, ?2, ?3, ?4)",
         content.digest, content.raw_bytes, store::put_layout(to, content.layout, *content.items),
         store::Bytes(ids));
  insert->run();
  to("DELETE FROM absent_object WHERE digest = ?1", content.digest)->run();
  return insert->changes() > 0;
}

}  // namespace flor::remote
