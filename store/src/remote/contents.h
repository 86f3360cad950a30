// What a run consists of beside its facts: checkpoints, logged tensors, and the chunks of both, by
// their digests, so that it does not matter in which catalog they were numbered.
#pragma once

#include "chunk_reader.h"
#include "sqlite.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace flor::remote {

using store::Digest;

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
  std::int64_t created_us = 0, discarded_us = 0, collected_us = 0;
  std::int64_t raw_bytes = 0, stored_bytes = 0;
  Digest digest;
  Digest layout;
  std::vector<std::byte> items;  ///< the layout blob
  std::vector<Digest> chunks;

  using Name = std::tuple<store::CheckpointKind, std::int64_t, std::int64_t, std::string, Digest>;
  /// What makes it the same in two catalogs.
  Name name() const { return {key.kind, key.main_loop, key.iteration, key.loop, digest}; }
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

/// Reads from one state of a catalog. `packs` is what the places of its chunks refer to.
class ContentReader {
 public:
  ContentReader(store::Connection& connection, std::int64_t run);

  std::vector<Content> checkpoints() const;
  /// Deleted ones. Those whose content was collected have no chunks.
  std::vector<Content> discarded() const;
  /// What the values of the run refer to.
  std::vector<Content> objects() const;

  /// Adds the records of these chunks and of their bases, with the place that the catalog gives.
  void add_records(const std::vector<Digest>& chunks, Records& records) const;

 private:
  /// Reads the rows of a chunk and its bases, once. Its digest.
  const Digest& load(std::uint32_t id) const;
  std::vector<Digest> digests_of(store::Bytes ids) const;
  void add_record(const Digest& digest, Records& records) const;

  store::Connection& connection_;
  std::int64_t run_;
  mutable std::unordered_map<std::uint32_t, Digest> digests_;  ///< of chunks that were read
  mutable std::unordered_map<Digest, Record> records_;
};

/// Writes contents and records to a catalog that has none of the run yet; records get ids in their
/// order. Within a transaction of the caller.
void put_records(store::Connection& to, const Records& records,
                 const std::map<std::string, std::uint64_t>& parcel_bytes);
void put_checkpoint(store::Connection& to, std::int64_t run, const Content& content);
/// As a deleted one, whose content is elsewhere.
void put_discarded(store::Connection& to, std::int64_t run, const Content& content);
void put_object(store::Connection& to, const Content& content);

}  // namespace flor::remote
