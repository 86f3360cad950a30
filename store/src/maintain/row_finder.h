// Restores rows of chunks that the catalog lost, from the records in the packs.
#pragma once

#include "maintain/check_chunks.h"
#include "pack/pack_scan.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::store {

/// A row of `checkpoint` or `object`, with its layout.
struct StoredManifest {
  std::string table;  ///< "checkpoint" or "object"
  std::int64_t id = 0;
  std::string what;  ///< in messages
  std::string run;   ///< key; empty for an object
  Digest digest;
  std::vector<std::byte> layout;
  std::vector<std::byte> ids;
};

/// The reason why the manifest cannot be read with these chunks; empty if it can. Reads no content.
std::string flaw_of(const StoredManifest& manifest, const ChunkRows& chunks);

/// Ids are given in the order in which records are appended, so that records without a row can be
/// matched with ids without one. A guess is proved right by the digest of a checkpoint that has the
/// chunks, or by the header of a record that names its base.
class RowFinder {
 public:
  /// `foreign`: the rows, including missing ones, whose records came from elsewhere.
  RowFinder(const PackScan& scan, const std::vector<StoredManifest>& manifests, ChunkRows& chunks,
            const std::set<std::uint32_t>& foreign)
      : scan_(scan), manifests_(manifests), chunks_(chunks), foreign_(foreign) {}

  /// Adds the rows that were found to the chunks; returns their ids.
  std::vector<std::uint32_t> find();

 private:
  void find_bases();
  void collect_missing();
  void guess();
  void accept_proven();
  std::uint32_t accept(std::uint32_t id, const FoundRecord& record);
  std::uint32_t id_of_base(const Digest& digest, PackOrigin origin);
  /// For content recorded here, searches only among records that were made here.
  std::optional<FoundRecord> find_record(const Digest& digest, PackOrigin origin) const;
  PackOrigin origin_of(std::uint32_t id) const {
    return foreign_.contains(id) ? PackOrigin::elsewhere : PackOrigin::here;
  }

  const PackScan& scan_;
  const std::vector<StoredManifest>& manifests_;
  ChunkRows& chunks_;
  const std::set<std::uint32_t>& foreign_;
  std::unordered_map<Digest, std::uint32_t> ids_;  ///< of the existing rows
  std::map<std::uint32_t, std::size_t> missing_;   ///< id, and the length that its block requires
  std::map<std::uint32_t, FoundRecord> guesses_;
  std::unordered_map<Digest, std::uint32_t> guessed_ids_;
  std::uint32_t next_id_ = 1;
  std::vector<std::uint32_t> found_;
};

}  // namespace flor::store
