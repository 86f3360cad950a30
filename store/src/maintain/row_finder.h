// Restores rows of chunks that the catalog has lost, from records in the packs.
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
  std::string what;  ///< its name in messages
  std::string run;   ///< key of the run; empty for an object
  Digest digest;
  std::vector<std::byte> layout;
  std::vector<std::byte> ids;
};

/// Returns why the manifest cannot be read with these chunks; empty if it can. Reads no content.
std::string flaw_of(const StoredManifest& manifest, const ChunkRows& chunks);

/// Matches missing ids with records that have no row. Ids are assigned in the order in which
/// records are appended, which gives a guess for each. A guess is accepted if the digest of a
/// checkpoint with the chunks confirms it, or if a record's header names the chunk as its base.
class RowFinder {
 public:
  /// `foreign`: ids, including missing ones, of chunks whose records came from elsewhere.
  RowFinder(const PackScan& scan, const std::vector<StoredManifest>& manifests, ChunkRows& chunks,
            const std::set<std::uint32_t>& foreign)
      : scan_(scan), manifests_(manifests), chunks_(chunks), foreign_(foreign) {}

  /// Adds the restored rows to the chunks and returns their ids.
  std::vector<std::uint32_t> find();

 private:
  void find_bases();
  void collect_missing();
  void guess();
  void accept_proven();
  std::uint32_t accept(std::uint32_t id, const FoundRecord& record);
  std::uint32_t id_of_base(const Digest& digest, PackOrigin origin);
  /// For content recorded here, searches only records written here.
  std::optional<FoundRecord> find_record(const Digest& digest, PackOrigin origin) const;
  PackOrigin origin_of(std::uint32_t id) const {
    return foreign_.contains(id) ? PackOrigin::elsewhere : PackOrigin::here;
  }

  const PackScan& scan_;
  const std::vector<StoredManifest>& manifests_;
  ChunkRows& chunks_;
  const std::set<std::uint32_t>& foreign_;
  std::unordered_map<Digest, std::uint32_t> ids_;  ///< ids of the existing rows
  std::map<std::uint32_t, std::size_t> missing_;   ///< by id: the length that its block requires
  std::map<std::uint32_t, FoundRecord> guesses_;
  std::unordered_map<Digest, std::uint32_t> guessed_ids_;
  std::uint32_t next_id_ = 1;
  std::vector<std::uint32_t> found_;
};

}  // namespace flor::store
