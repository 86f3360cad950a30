// The content of a run, as opposed to its facts: checkpoints, logged tensors, and the chunks of
// both, by their digests, so that their numbers in a particular catalog do not matter.
#pragma once

#include "database/schema.h"
#include "database/sqlite.h"
#include "pack/chunk_reader.h"
#include "remote/remote.h"

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace flor::remote {

using store::Digest;

/// The table that the catalogs of an object store have in addition to those of a store: checkpoints
/// that were deleted there.
inline constexpr store::LaterTable kPrunedTable = {
    "pruned",
    "run INTEGER NOT NULL, kind INTEGER NOT NULL, "
    "main_loop INTEGER NOT NULL, iteration INTEGER "
    "NOT NULL, loop TEXT NOT NULL, digest BLOB NOT "
    "NULL, pruned_us INTEGER NOT NULL, PRIMARY KEY "
    "(run, kind, main_loop, iteration, loop, digest)",
    "STRICT, WITHOUT ROWID"};

/// A record: a chunk in encoded form, and where it lies.
struct Record {
  Digest digest;
  Digest base;  ///< zeros without one
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;  ///< of the payload
  std::uint8_t codec = 0;
  store::ElementType type = store::ElementType::bytes;
  std::uint8_t depth = 0;
  std::string parcel;  ///< SHA-256 in hex; empty: none yet
  std::uint64_t offset = 0;

  bool has_base() const { return depth != 0; }
  std::uint64_t bytes() const { return store::kRecordHeaderBytes + stored_bytes; }
  /// Whether a header of a record is that of this one.
  bool is_described_by(const store::RecordHeader& header) const;
  bool is_same_record(const Record& other) const;
};

/// A checkpoint, stored or deleted, or an object.
struct Content {
  std::int64_t id = 0;  ///< in the catalog that it was read from
  store::CheckpointKey key;
  std::int64_t created_us = 0, discarded_us = 0;
  std::int64_t raw_bytes = 0, stored_bytes = 0;
  Digest digest;
  Digest layout;
  /// The layout blob, which checkpoints share: as many copies as checkpoints would be more memory
  /// than was received.
  std::shared_ptr<const std::vector<std::byte>> items;
  std::vector<Digest> chunks;

  using Place = std::tuple<store::CheckpointKind, std::int64_t, std::int64_t, std::string>;
  /// A run has one checkpoint at each place.
  Place place() const { return {key.kind, key.main_loop, key.iteration, key.loop}; }
  /// The same without items and chunks.
  Content outline() const;
  using Name = std::pair<Place, Digest>;
  /// Identifies it across catalogs.
  Name name() const { return {place(), digest}; }
};

/// Records by digest, in an order in which each comes after its base.
class Records {
 public:
  bool contains(const Digest& digest) const { return places_.contains(digest); }
  const Record& at(const Digest& digest) const { return list_[places_.at(digest)]; }
  Record& at(const Digest& digest) { return list_[places_.at(digest)]; }
  /// After its base. One that is there already stays as it is.
  void add(const Record& record);
  const std::vector<Record>& list() const { return list_; }
  std::vector<Record>& list() { return list_; }

 private:
  std::vector<Record> list_;
  std::unordered_map<Digest, std::size_t> places_;
};

/// Reads from one state of a catalog. The places of its chunks refer to `packs`.
class ContentReader {
 public:
  ContentReader(store::Connection& connection, std::int64_t run);

  std::vector<Content> checkpoints() const;
  /// Deleted checkpoints, without their content.
  std::vector<Content> discarded() const;
  /// The deleted checkpoints that were deleted in the object store: they are not sent again.
  /// `discarded_us` says when.
  std::vector<Content> pruned() const;
  /// The objects (tensors, images) that values of the run refer to.
  std::vector<Content> objects() const;
  std::set<Digest> named_objects() const;

  /// Damaged unless the content has the digest that it claims, and its layout that of its own, by
  /// the digests and lengths of its chunks, as `flor fsck` checks it.
  void check(const Content& content) const;

  /// The record of a chunk that the contents read so far need; null if there is none.
  const Record* find(const Digest& digest) const;
  /// Adds the records of these chunks and of their bases, with the place that the catalog gives.
  void add_records(const std::vector<Digest>& chunks, Records& records) const;

 private:
  /// Reads the rows of a chunk and its bases, once, and returns its digest. Damaged if it lies
  /// deeper.
  const Digest& load(std::uint32_t id, int depth_max) const;
  Damaged damaged(std::string_view what) const;
  std::vector<Digest> digests_of(store::Bytes ids) const;
  void add_record(const Digest& digest, Records& records) const;
  void read_layout(std::int64_t id, Content& content) const;

  struct Layout {
    Digest digest;
    std::shared_ptr<const std::vector<std::byte>> items;
  };
  store::Connection& connection_;
  std::int64_t run_;
  mutable std::unordered_map<std::uint32_t, Digest> digests_;  ///< of chunks that were read
  mutable std::unordered_map<Digest, Record> records_;
  mutable std::unordered_map<std::int64_t, Layout> layouts_;
};

/// The whole content of a run, as it is or is to be.
struct RunContents {
  std::vector<Content> checkpoints;  ///< that are stored
  std::vector<Content> gone;         ///< that the run once had
  std::vector<Content> pruned;       ///< of these, deleted in the object store
  std::vector<Content> objects;
  Records records;  ///< all that checkpoints and objects need, and perhaps more

  /// A checkpoint and the records that it needs.
  void add(const ContentReader& reader, Content content);
};

/// Lengths of parcels by name.
using ParcelBytes = std::map<std::string, std::uint64_t>;
ParcelBytes parcel_lengths(store::Connection& catalog);

/// Writes the contents to a catalog that has the facts of the run and no content of it yet. The
/// order of the rows depends on the contents alone, so that the same run gives the same catalog
/// everywhere. Sets the fields of `numbers` that describe the contents. Within a transaction of the
/// caller.
void put_contents(store::Connection& to, std::int64_t run, const RunContents& contents,
                  const ParcelBytes& parcel_bytes, RemoteRun& numbers);

/// Writes records; those that the catalog has already, in whatever form, stay as they are there.
void put_records(store::Connection& to, const Records& records, const ParcelBytes& parcel_bytes);
void put_checkpoint(store::Connection& to, std::int64_t run, const Content& content);
/// Writes it as a deleted checkpoint, whose content is elsewhere.
void put_discarded(store::Connection& to, std::int64_t run, const Content& content);
/// False if it is there already.
bool put_object(store::Connection& to, const Content& content);

}  // namespace flor::remote
