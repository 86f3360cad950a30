// Implements `archive`: encodes the chunks of a run again, group by group, and points their rows to
// the new records.
#include "maintain/archive.h"

#include "database/store_impl.h"
#include "index/writing.h"
#include "lock/maintenance_lock.h"
#include "maintain/archive_plan.h"
#include "pack/pack_rows.h"
#include "pack/pack_writer.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr std::uint8_t kArchiveDepthMax = 64;
/// A batch is committed when it has about this many bytes of new records.
constexpr std::uint64_t kCommitBytes = std::uint64_t{256} << 20;
/// Up to this many bytes, encoded chunks wait in memory until it is known whether their group
/// becomes smaller.
constexpr std::uint64_t kHeldBytes = std::uint64_t{256} << 20;

struct NewRecord {
  ChunkRow old;
  PackOrigin origin = PackOrigin::here;
  RecordHeader header;
  RecordPlace place;
  std::uint32_t base = 0;
  std::vector<std::byte> payload;  ///< empty once it was appended
};

std::uint64_t record_bytes(std::uint64_t payload) { return kRecordHeaderBytes + payload; }

class Archiver {
 public:
  Archiver(Store& store, const Run& run, const ArchiveOptions& options)
      : database_(*store.impl().database),
        run_(run),
        depth_max_(options.depth_max),
        chunks_(database_.paths, database_.files),
        here_(database_.paths, database_.files, PackOrigin::here),
        elsewhere_(database_.paths, database_.files, PackOrigin::elsewhere) {
    if (depth_max_ < 1 || depth_max_ > kArchiveDepthMax) {
      throw UsageError(
          fmt::format("the depth of an archive is 1 to {}, not {}", kArchiveDepthMax, depth_max_));
    }
    if (store.impl().mode == OpenMode::read_only) {
      throw Error(fmt::format("the store {} was opened for reading only", store.home().string()));
    }
    maintenance_.emplace(database_);
    run_lock_ = store.lock_run(run.key);
    if (!run_lock_) {
      throw Busy(fmt::format("run {} is being recorded: archive it when it has ended", run.key));
    }
  }

  ArchiveReport run() {
    prepare_to_move(database_);
    const HeldContent held = find_held(database_);
    if (!held.unread.empty()) {
      throw Error(fmt::format("run {} is not archived: {}", run_.key, held.unread.front()));
    }
    const auto connection = open_for_reading(database_.paths);
    const ArchivePlan plan(*connection, run_.id, chunks_, held);
    report_.checkpoints = plan.checkpoints();
    report_.chunks = static_cast<std::int64_t>(plan.chunks().size());
    for (const std::uint32_t id : plan.chunks()) {
      const ChunkRow& row = chunks_.row(id);
      report_.raw_bytes += row.raw_bytes;
      report_.before += record_bytes(row.stored_bytes);
      if (plan.is_pinned(id)) ++report_.chunks_pinned;
    }
    report_.after = report_.before;
    try {
      for (const auto& group : plan.groups()) {
        write_group(plan, group);
        if (here_.appended() + elsewhere_.appended() >= kCommitBytes) commit();
      }
      commit();
    } catch (...) {
      for (PackWriter* writer : {&here_, &elsewhere_}) writer->roll_back(committing_);
      throw;
    }
    return report_;
  }

 private:
  /// The content of a chunk whose new record is decided.
  struct Settled {
    std::uint32_t id = 0;
    PackOrigin origin = PackOrigin::here;
    std::uint8_t depth = 0;
    std::vector<std::byte> raw;
  };

  void write_group(const ArchivePlan& plan, const std::vector<Versions>& group) {
    std::unordered_map<std::uint32_t, std::uint8_t> depths;
    std::vector<NewRecord> records;
    std::uint64_t held = 0;
    for (const Versions& versions : group) {
      std::optional<Settled> last;
      for (const std::uint32_t id : versions) {
        Settled now{id, plan.origin(id), 0, std::vector<std::byte>(chunks_.row(id).raw_bytes)};
        chunks_.read(scratch_, id, now.raw);
        const auto known = depths.find(id);
        if (known != depths.end()) {
          now.depth = known->second;
        } else if (plan.is_pinned(id)) {
          now.depth = chunks_.row(id).depth;
        } else {
          records.push_back(encode_anew(now, last));
          now.depth = records.back().header.depth;
          held += records.back().payload.size();
          if (held > kHeldBytes) {
            append(records);
            held = 0;
          }
        }
        depths.emplace(id, now.depth);
        last = std::move(now);
      }
    }
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (const NewRecord& record : records) {
      before += record_bytes(record.old.stored_bytes);
      after += record_bytes(record.header.stored_bytes);
    }
    if (after >= before) return;  // records that were already appended become garbage
    append(records);
    batch_.insert(batch_.end(), records.begin(), records.end());
    saved_ += before - after;
  }

  void append(std::vector<NewRecord>& records) {
    for (NewRecord& record : records) {
      if (record.place.pack) continue;
      record.place = writer_of(record).append(record.header, record.payload);
      record.payload = {};
    }
  }

  NewRecord encode_anew(const Settled& now, const std::optional<Settled>& last) {
    const ChunkRow& row = chunks_.row(now.id);
    std::span<const std::byte> base;
    // A chunk recorded here may only build on chunks recorded here.
    const bool may_build = last && (last->origin == now.origin || now.origin != PackOrigin::here);
    if (may_build && last->depth < depth_max_) base = last->raw;
    const Encoded encoded = encode_shortest(scratch_.codec, row.type, now.raw, base, payload_);
    NewRecord record;
    record.old = row;
    record.origin = now.origin;
    RecordHeader& header = record.header;
    header.codec = encoded.codec;
    header.type = row.type;
    header.uses_base = encoded.uses_base;
    header.raw_bytes = row.raw_bytes;
    header.stored_bytes = static_cast<std::uint32_t>(encoded.payload.size());
    header.digest = row.digest;
    header.payload_checksum = checksum(encoded.payload);
    if (encoded.uses_base) {
      header.depth = static_cast<std::uint8_t>(last->depth + 1);
      header.base = chunks_.row(last->id).digest;
      record.base = last->id;
    }
    decoded_.resize(now.raw.size());
    decode(scratch_.codec, header.codec, row.type, encoded.payload, base, decoded_);
    if (digest_of(decoded_) != row.digest) {
      throw Error(
          fmt::format("chunk {} does not come back as it was from its new form: this is a "
                      "defect of flor or of the memory; nothing was changed",
                      now.id));
    }
    record.payload.assign(encoded.payload.begin(), encoded.payload.end());
    return record;
  }

  /// Makes the new records durable, reads them back, and points the rows to them.
  void commit() {
    const std::array<PackWriter*, 2> writers{&here_, &elsewhere_};
    if (batch_.empty()) {
      for (PackWriter* writer : writers) writer->roll_back(false);
      return;
    }
    for (PackWriter* writer : writers) writer->sync();
    read_back();
    {
      Writing writing(database_);
      Connection& connection = writing.connection();
      std::map<const PackWriter*, std::vector<std::int64_t>> packs;
      for (const PackWriter* writer : writers) packs[writer] = put_pack_rows(connection, *writer);
      for (const NewRecord& record : batch_) {
        const PackWriter& writer = writer_of(record);
        move(connection, record, packs.at(&writer).at(writer.number_of(record.place)));
      }
      for (const NewRecord& record : batch_) require_chain(connection, record.old.id);
      writing.add(run_.id, ArchivedEvent{saved_});
      writing.commit(committing_);
      committing_ = false;
      for (PackWriter* writer : writers) writer->committed();
    }
    report_.chunks_written += static_cast<std::int64_t>(batch_.size());
    report_.after -= saved_;
    saved_ = 0;
    batch_.clear();
  }

  void read_back() {
    PackReader reader(database_.paths, database_.files);
    std::map<const OpenPack*, std::int64_t> numbers;
    for (const NewRecord& record : batch_) {
      const OpenPack* pack = record.place.pack.get();
      const auto [entry, is_new] =
          numbers.emplace(pack, static_cast<std::int64_t>(numbers.size()) + 1);
      if (is_new) reader.add(entry->second, pack->name);
      const RecordHeader& header = record.header;
      const std::int64_t number_of_pack = entry->second;
      const ChunkRow row{record.old.id,    header.digest,       number_of_pack, record.place.offset,
                         header.raw_bytes, header.stored_bytes, header.codec,   header.type,
                         header.depth,     record.base};
      reader.read(row, scratch_.record, true);
    }
  }

  PackWriter& writer_of(const NewRecord& record) {
    return record.origin == PackOrigin::here ? here_ : elsewhere_;
  }

  static std::optional<std::int64_t> id_or_null(std::uint32_t id) {
    return id != 0 ? std::optional<std::int64_t>(id) : std::nullopt;
  }

  void move(Connection& connection, const NewRecord& record, std::int64_t pack) const {
    const auto update = connection(
        "UPDATE chunk SET pack = ?2, offset = ?3, stored_bytes = ?4, codec = ?5, depth = ?6, "
        "base = ?7 WHERE id = ?1 AND pack = ?8 AND offset = ?9",
        std::int64_t{record.old.id}, pack, static_cast<std::int64_t>(record.place.offset),
        std::int64_t{record.header.stored_bytes}, std::int64_t{record.header.codec},
        std::int64_t{record.header.depth}, id_or_null(record.base), record.old.pack,
        static_cast<std::int64_t>(record.old.offset));
    update->run();
    if (update->changes() != 1) throw_changed();
  }

  /// Throws Busy if a recording of the same content has meanwhile built on the chunk.
  void require_chain(Connection& connection, std::uint32_t id) const {
    const auto broken = connection(
        "SELECT 1 FROM chunk JOIN chunk AS base ON base.id = chunk.base "
        "WHERE chunk.base = ?1 AND chunk.depth <= base.depth",
        std::int64_t{id});
    if (broken->step()) throw_changed();
  }

  [[noreturn]] void throw_changed() const {
    throw Busy(
        fmt::format("chunks of run {} were used by a run that is being recorded: archive it "
                    "again, later",
                    run_.key));
  }

  Database& database_;
  const Run& run_;
  std::uint8_t depth_max_;
  std::optional<MaintenanceLock> maintenance_;
  std::optional<RunLock> run_lock_;
  ChunkReader chunks_;
  PackWriter here_, elsewhere_;
  DecodeScratch scratch_;
  Scratch payload_;
  std::vector<std::byte> decoded_;
  std::vector<NewRecord> batch_;
  std::uint64_t saved_ = 0;  ///< bytes saved by the batch
  bool committing_ = false;
  ArchiveReport report_;
};

}  // namespace

ArchiveReport archive(Store& store, const Run& run, const ArchiveOptions& options) {
  return Archiver(store, run, options).run();
}

}  // namespace flor::store
