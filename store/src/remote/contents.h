// The content of a run (checkpoints, logged tensors, and their chunks), as opposed to its facts. It
// is described by digests, so that row ids of a particular catalog do not matter.
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

/// A table that only catalogs in an object store have: checkpoints that were deleted in that object
/// store.
inline constexpr store::LaterTable kPrunedTable = {
    "pruned",
    "run INTEGER NOT NULL, kind INTEGER NOT NULL, "
    "main_loop INTEGER NOT NULL, iteration INTEGER "
    "NOT NULL, loop TEXT NOT NULL, digest BLOB NOT "
    "NULL, pruned_us INTEGER NOT NULL, PRIMARY KEY "
    "(run, kind, main_loop, iteration, loop, digest)",
    "STRICT, WITHOUT ROWID"};

/// A record (an encoded chunk), and where it is stored.
struct Record {
  Digest digest;
  Digest base;  ///< zero without a base
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;  ///< length of the payload
  std::uint8_t codec = 0;
  store::ElementType type = store::ElementType::bytes;
  std::uint8_t depth = 0;
  std::string parcel;  ///< SHA-256 of the parcel that holds it, in hex; empty: not in a parcel yet
  std::uint64_t offset = 0;

  bool has_base() const { return depth != 0; }
  std::uint64_t bytes() const { return store::kRecordHeaderBytes + stored_bytes; }
  /// True if the header of a record describes this record.
  bool is_described_by(const store::RecordHeader& header) const;
  bool is_same_record(const Record& other) const;
};

/// A stored or deleted checkpoint, or an object.
struct Content {
  std::int64_t id = 0;  ///< id in the catalog that it was read from
  store::CheckpointKey key;
  std::int64_t created_us = 0, discarded_us = 0;
  std::int64_t raw_bytes = 0, stored_bytes = 0;
  Digest digest;
  Digest layout;
  /// The encoded layout. Shared, because many checkpoints have the same layout, and a copy for each
  /// would need more memory than the data received.
  std::shared_ptr<const std::vector<std::byte>> items;
  std::vector<Digest> chunks;

  using Place = std::tuple<store::CheckpointKind, std::int64_t, std::int64_t, std::string>;
  /// Where in the run it was taken. A run has one checkpoint at each place.
  Place place() const { return {key.kind, key.main_loop, key.iteration, key.loop}; }
  /// Returns a copy without items and chunks.
  Content outline() const;
  using Name = std::pair<Place, Digest>;
  /// Identifies it independent of the catalog.
  Name name() const { return {place(), digest}; }
};

/// Records with unique digests, ordered so that each comes after its base.
class Records {
 public:
  bool contains(const Digest& digest) const { return places_.contains(digest); }
  const Record& at(const Digest& digest) const { return list_[places_.at(digest)]; }
  Record& at(const Digest& digest) { return list_[places_.at(digest)]; }
  /// Adds a record; its base must have been added before. Does nothing if the digest is already
  /// there.
  void add(const Record& record);
  const std::vector<Record>& list() const { return list_; }
  std::vector<Record>& list() { return list_; }

 private:
  std::vector<Record> list_;
  std::unordered_map<Digest, std::size_t> places_;
};

/// Reads the content of a run from one state of a catalog.
class ContentReader {
 public:
  ContentReader(store::Connection& connection, std::int64_t run);

  std::vector<Content> checkpoints() const;
  /// Returns deleted checkpoints, without their content.
  std::vector<Content> discarded() const;
  /// Returns the checkpoints that were deleted in the object store and are not uploaded again.
  /// `discarded_us` tells when.
  std::vector<Content> pruned() const;
  /// Returns the objects (tensors, images) that values of the run refer to.
  std::vector<Content> objects() const;
  std::set<Digest> named_objects() const;

  /// Throws Damaged unless the content and its layout match their digests. Uses the digests and
  /// lengths of the chunks, like `flor fsck`, without reading them.
  void check(const Content& content) const;

  /// Returns the record of a chunk that the contents read so far need; null if there is none.
  const Record* find(const Digest& digest) const;
  /// Adds the records of these chunks and of their bases, with the places that the catalog gives.
  void add_records(const std::vector<Digest>& chunks, Records& records) const;

 private:
  /// Reads the rows of a chunk and its bases, unless already done, and returns the chunk's digest.
  /// Throws Damaged if it is deeper than `depth_max`.
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
  mutable std::unordered_map<std::uint32_t, Digest> digests_;  ///< of the chunks read so far, by id
  mutable std::unordered_map<Digest, Record> records_;
  mutable std::unordered_map<std::int64_t, Layout> layouts_;
};

/// All content of a run in a store, or the content that it is to have.
struct RunContents {
  std::vector<Content> checkpoints;  ///< stored checkpoints
  std::vector<Content> gone;         ///< deleted checkpoints
  std::vector<Content> pruned;       ///< those of `gone` that were deleted in the object store
  std::vector<Content> objects;
  Records records;  ///< at least those that the checkpoints and objects need

  /// Adds a checkpoint and the records that it needs.
  void add(const ContentReader& reader, Content content);
};

/// Lengths of parcels in bytes, by name.
using ParcelBytes = std::map<std::string, std::uint64_t>;
ParcelBytes parcel_lengths(store::Connection& catalog);

/// Writes the contents to a catalog that has the facts of the run but no content. The order of rows
/// depends only on the contents, so that a run gives the same catalog everywhere. Sets the fields
/// of `numbers` that describe the contents. Within a transaction of the caller.
void put_contents(store::Connection& to, std::int64_t run, const RunContents& contents,
                  const ParcelBytes& parcel_bytes, RemoteRun& numbers);

/// Writes records. Chunks that the catalog already has, in whatever form, are not changed.
void put_records(store::Connection& to, const Records& records, const ParcelBytes& parcel_bytes);
void put_checkpoint(store::Connection& to, std::int64_t run, const Content& content);
/// Writes the content as a deleted checkpoint whose content is elsewhere.
void put_discarded(store::Connection& to, std::int64_t run, const Content& content);
/// Returns false if the object is already there.
bool put_object(store::Connection& to, const Content& content);

}  // namespace flor::remote
