#include "pack/chunk_reader.h"

#include "database/schema.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>

namespace flor::store {
namespace {

template <typename T>
T narrow(std::int64_t value) {
  if (value < 0 || static_cast<std::uint64_t>(value) > std::numeric_limits<T>::max()) {
    throw Damaged("the catalog describes a chunk that cannot be: run `flor fsck`");
  }
  return static_cast<T>(value);
}

[[noreturn]] void throw_row(const ChunkRow& row, const char* what) {
  throw Damaged(fmt::format("the catalog's row of chunk {} {}: run `flor fsck`", row.id, what));
}

[[noreturn]] void throw_record(const ChunkRow& row, const std::filesystem::path& pack,
                               const char* what) {
  throw Damaged(fmt::format("{} {}", describe(row, pack), what));
}

/// True if this is a record that `flor gc` has cleared in place because the disk had no room to
/// copy the pack's other records.
bool is_collected(std::span<const std::byte> record) {
  return std::ranges::all_of(record.first(kRecordHeaderBytes),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

std::string describe(const ChunkRow& row, const std::filesystem::path& pack) {
  return fmt::format("the record at offset {} of {}", row.offset, pack.string());
}

ChunkRow read_chunk_row(const Query& query) {
  ChunkRow row;
  row.id = narrow<std::uint32_t>(query.integer(0));
  row.digest = query.digest(1);
  row.pack = query.integer(2);
  row.offset = narrow<std::uint64_t>(query.integer(3));
  row.raw_bytes = narrow<std::uint32_t>(query.integer(4));
  row.stored_bytes = narrow<std::uint32_t>(query.integer(5));
  row.codec = narrow<std::uint8_t>(query.integer(6));
  row.type = static_cast<ElementType>(narrow<std::uint8_t>(query.integer(7)));
  row.depth = narrow<std::uint8_t>(query.integer(8));
  row.base = query.is_null(9) ? 0 : narrow<std::uint32_t>(query.integer(9));
  if (row.raw_bytes > kChunkBytes) throw_row(row, "has too many bytes");
  if (row.stored_bytes > kPayloadBytesMax) throw_row(row, "has too long a record");
  if ((row.base != 0) != (row.depth != 0)) throw_row(row, "has a depth that does not fit its base");
  return row;
}

std::optional<PackHeader> read_pack_header(const File& file) {
  std::array<std::byte, kPackHeaderBytes> bytes{};
  file.read_at(bytes, 0);
  return decode_pack_header(bytes);
}

void PackReader::add(std::int64_t pack, const std::string& name) {
  const std::lock_guard lock(mutex_);
  packs_[pack].name = name;
}

bool PackReader::knows(std::int64_t pack) const {
  const std::lock_guard lock(mutex_);
  return packs_.contains(pack);
}

std::filesystem::path PackReader::path(std::int64_t pack) const {
  const std::lock_guard lock(mutex_);
  return paths_.pack(packs_.at(pack).name);
}

const File& PackReader::open(std::int64_t pack) {
  const std::lock_guard lock(mutex_);
  Pack& entry = packs_.at(pack);
  if (entry.file) return *entry.file;
  const std::filesystem::path path = paths_.pack(entry.name);
  std::unique_ptr<File> file;
  try {
    file = std::make_unique<File>(files_, path, O_RDONLY);
  } catch (const Error&) {
    std::error_code error;
    if (std::filesystem::exists(path, error) || error) throw;
    throw PackMissing(fmt::format("the pack {} is missing", path.string()));
  }
  // A damaged pack header does not matter here, because each record is verified by itself; `check`
  // reports it.
  const auto header = read_pack_header(*file);
  if (header && header->format > static_cast<std::uint32_t>(kFormat)) {
    throw Error(
        fmt::format("the pack {} was written by a newer Flor (format {}); this one reads up to {}: "
                    "upgrade flor",
                    path.string(), header->format, kFormat));
  }
  entry.file = std::move(file);
  return *entry.file;
}

std::span<const std::byte> PackReader::read(const ChunkRow& row, std::vector<std::byte>& buffer,
                                            bool verify_payload) {
  const File& file = open(row.pack);
  const std::size_t size = kRecordHeaderBytes + row.stored_bytes;
  if (buffer.size() < size) buffer.resize(size);
  const std::span<std::byte> bytes = std::span(buffer).first(size);
  if (file.read_at(bytes, row.offset) != size) {
    throw_record(row, file.path(), "is cut off: the file is too short");
  }
  const auto header = decode_record_header(bytes.first<kRecordHeaderBytes>());
  if (!header && is_collected(bytes)) {
    throw PackMissing(describe(row, file.path()) + " is gone: there are zeros");
  }
  if (!header) throw_record(row, file.path(), "has a damaged header");
  if (header->digest != row.digest || header->raw_bytes != row.raw_bytes ||
      header->stored_bytes != row.stored_bytes || header->codec != row.codec ||
      header->type != row.type || header->depth != row.depth ||
      header->uses_base != (row.base != 0)) {
    throw_record(row, file.path(), "is not the one that the catalog means");
  }
  const auto payload = bytes.subspan(kRecordHeaderBytes);
  if (verify_payload && checksum(payload) != header->payload_checksum) {
    throw_record(row, file.path(), "is damaged: its payload does not have its checksum");
  }
  return payload;
}

void ChunkReader::load_rows(Connection& connection, std::span<const std::uint32_t> ids) {
  // The chunks of a checkpoint were stored together, so most of their ids are neighbours. A query
  // for a range of ids takes a tenth of the time of one query per id.
  constexpr std::uint32_t kGap = 8;
  std::vector<std::uint32_t> wanted(ids.begin(), ids.end());
  while (!wanted.empty()) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (std::size_t begin = 0; begin < wanted.size();) {
      std::size_t end = begin + 1;
      while (end < wanted.size() && wanted[end] - wanted[end - 1] <= kGap) ++end;
      load_rows(connection, wanted[begin], wanted[end - 1],
                std::span(wanted).subspan(begin, end - begin));
      begin = end;
    }
    std::vector<std::uint32_t> bases;
    for (const std::uint32_t id : wanted) {
      const std::uint32_t base = rows_.at(id).base;
      if (base != 0 && !rows_.contains(base)) bases.push_back(base);
    }
    wanted = std::move(bases);
  }
  check_bases();
}

void ChunkReader::load_rows(Connection& connection, std::uint32_t first, std::uint32_t last,
                            std::span<const std::uint32_t> wanted) {
  const auto query = connection(FLOR_CHUNK_COLUMNS "WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
                                std::int64_t{first}, std::int64_t{last});
  for (const std::uint32_t id : wanted) {
    bool found = false;
    while (!found && query->step()) found = query->integer(0) == id;
    if (!found) {
      throw Damaged(fmt::format("chunk {} is missing in the catalog: run `flor fsck`", id));
    }
    const ChunkRow row = read_chunk_row(*query);
    rows_.insert_or_assign(id, row);
    if (!packs_.knows(row.pack)) load_pack(connection, row);
  }
}

void ChunkReader::load_pack(Connection& connection, const ChunkRow& row) {
  const auto pack = connection("SELECT name FROM pack WHERE id = ?1", row.pack);
  if (!pack->step()) throw_row(row, "names a pack that is not in the catalog");
  packs_.add(row.pack, pack->text(0));
}

void ChunkReader::check_bases() const {
  for (const auto& [id, row] : rows_) {
    if (row.base == 0) continue;
    const ChunkRow& base = rows_.at(row.base);
    if (base.raw_bytes != row.raw_bytes) throw_row(row, "has a base of another length");
    if (base.depth >= row.depth) throw_row(row, "has a base of the wrong depth");
  }
}

bool ChunkReader::lies_like(const ChunkReader& other) const {
  return rows_.size() == other.rows_.size() && std::ranges::all_of(rows_, [&](const auto& entry) {
           const auto found = other.rows_.find(entry.first);
           return found != other.rows_.end() && found->second.pack == entry.second.pack &&
                  found->second.offset == entry.second.offset;
         });
}

void ChunkReader::require_length(std::uint32_t id, std::size_t bytes) const {
  if (bytes != row(id).raw_bytes) throw_row(row(id), "has another length than its item wants");
}

void ChunkReader::read(DecodeScratch& scratch, std::uint32_t id, std::span<std::byte> raw) const {
  require_length(id, raw.size());
  const ChunkRow& first = row(id);
  // Must be resized before the recursion, which keeps references to its elements.
  if (scratch.bases.size() < first.depth) scratch.bases.resize(first.depth);
  read(scratch, first, raw, 0);
}

void ChunkReader::read(DecodeScratch& scratch, const ChunkRow& row, std::span<std::byte> raw,
                       std::size_t level) const {
  std::span<std::byte> base;
  if (row.base != 0) {
    scratch.bases[level].resize(row.raw_bytes);
    base = scratch.bases[level];
    read(scratch, rows_.at(row.base), base, level + 1);
  }
  if (!decode_and_verify(scratch, row, base, raw)) {
    throw_record(row, packs_.path(row.pack), "is damaged: its content does not have its digest");
  }
}

template <typename Decode>
void ChunkReader::with_payload(DecodeScratch& scratch, const ChunkRow& row,
                               const Decode& decode) const {
  const auto payload = packs_.read(row, scratch.record, false);
  try {
    decode(payload);
  } catch (const Damaged& error) {
    throw Damaged(
        fmt::format("{} is damaged: {}", describe(row, packs_.path(row.pack)), error.what()));
  }
}

void ChunkReader::decode_record(DecodeScratch& scratch, const ChunkRow& row,
                                std::span<const std::byte> base, std::span<std::byte> raw) const {
  with_payload(scratch, row, [&](std::span<const std::byte> payload) {
    decode(scratch.codec, row.codec, row.type, payload, base, raw);
  });
}

bool ChunkReader::decode_and_verify(DecodeScratch& scratch, const ChunkRow& row,
                                    std::span<const std::byte> base,
                                    std::span<std::byte> raw) const {
  bool right = false;
  with_payload(scratch, row, [&](std::span<const std::byte> payload) {
    right = decode_and_digest(scratch.codec, row.codec, row.type, payload, base, raw) == row.digest;
  });
  return right;
}

}  // namespace flor::store
