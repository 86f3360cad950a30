// Runs in an object store as an attacker leaves them who can write there: catalogs with other rows,
// or another schema, and parcels with other bytes, all with digests and checksums that are right.
#pragma once

#include "remote/contents.h"
#include "remote/facts/run_catalog.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/parcels.h"
#include "remote/objects/sha256.h"
#include "remote_fixture.h"
#include "support/content.h"

#include <zstd.h>

#include <cstring>
#include <fstream>

namespace flor::remote::crafted {

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::vector<std::byte> compressed(std::span<const std::byte> file) {
  std::vector<std::byte> sealed(ZSTD_compressBound(file.size()));
  sealed.resize(ZSTD_compress(sealed.data(), sealed.size(), file.data(), file.size(), 3));
  return sealed;
}

/// A manifest that takes the place of the latest one, and names this object as the run's catalog.
inline RemoteRun publish_object(ObjectStore& objects, RemoteRun run,
                                std::span<const std::byte> object) {
  run.catalog = sha256_hex(object);
  run.catalog_bytes = object.size();
  objects.put(catalog_key(run.catalog), object);
  ++run.sequence;
  const auto names = list_manifests(objects, run.key);
  EXPECT_TRUE(put_manifest(objects, run, names.back()));
  return run;
}

inline RemoteRun publish(ObjectStore& objects, const RemoteRun& run,
                         std::span<const std::byte> file) {
  return publish_object(objects, run, compressed(file));
}

/// The run with another catalog: the one that is there, after `change`, and `patch` of its file.
inline RemoteRun with_catalog(ObjectStore& objects, const std::string& key,
                              const std::function<void(store::Connection&)>& change,
                              const std::function<void(std::string& file)>& patch = {}) {
  const RemoteRun run = choose_run(objects, key);
  const WorkDirectory work;
  const fs::path file = work.path() / "catalog.db";
  {
    std::ofstream out(file, std::ios::binary);
    unpack_catalog(objects, run, [&](std::span<const std::byte> content) {
      out.write(reinterpret_cast<const char*>(content.data()),
                static_cast<std::streamsize>(content.size()));
    });
  }
  {
    store::Connection connection(file, store::Connection::Mode::existing);
    connection.execute("PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=OFF");
    change(connection);
  }
  std::string content = testing::content_of(file);
  if (patch) patch(content);
  return publish(objects, run, bytes(content));
}

/// A parcel of the run with other bytes, under the name that they have.
inline RemoteRun with_parcels(
    ObjectStore& objects, const std::string& key,
    const std::function<void(std::vector<std::byte>& parcel, store::Connection& catalog,
                             std::int64_t pack)>& change) {
  return with_catalog(objects, key, [&](store::Connection& catalog) {
    std::vector<std::pair<std::int64_t, std::string>> packs;
    {
      const auto rows = catalog("SELECT id, name FROM pack ORDER BY id");
      while (rows->step()) packs.emplace_back(rows->integer(0), rows->text(1));
    }
    for (const auto& [pack, name] : packs) {
      std::vector<std::byte> parcel = objects.get(parcel_key(name), kMuch);
      change(parcel, catalog, pack);
      const std::string renamed = sha256_hex(parcel);
      objects.put(parcel_key(renamed), parcel);
      catalog("UPDATE OR IGNORE pack SET name = ?2, bytes = ?3 WHERE id = ?1", pack, renamed,
              static_cast<std::int64_t>(parcel.size()))
          ->run();
    }
  });
}

/// One bit of the payload of each record whose depth is one of these is flipped, and its checksums
/// made right: only its digest tells.
inline RemoteRun with_poison(ObjectStore& objects, const std::string& key, int least_depth,
                             int most_depth, std::int64_t at_least_bytes) {
  return with_parcels(
      objects, key,
      [&](std::vector<std::byte>& parcel, store::Connection& catalog, std::int64_t pack) {
        const auto rows = catalog(
            "SELECT offset, stored_bytes FROM chunk WHERE pack = ?1 AND depth BETWEEN ?2 AND ?3 "
            "AND "
            "stored_bytes >= ?4",
            pack, least_depth, most_depth, at_least_bytes);
        while (rows->step()) {
          const auto offset = static_cast<std::size_t>(rows->integer(0));
          const auto stored = static_cast<std::size_t>(rows->integer(1));
          const auto record = std::span(parcel).subspan(offset, store::kRecordHeaderBytes + stored);
          auto header = *store::decode_record_header(record.first<store::kRecordHeaderBytes>());
          const auto payload = record.subspan(store::kRecordHeaderBytes);
          payload[stored / 2] ^= std::byte{1};
          header.payload_checksum = store::checksum(payload);
          const auto encoded = store::encode_header(header);
          std::ranges::copy(encoded, record.begin());
        }
      });
}

}  // namespace flor::remote::crafted
