// The listing of an object store: the content of many manifests in a few objects, so that not every
// manifest must be read. It is only a cache: which manifests exist is known from a list of keys,
// and manifests that the listing lacks are read. docs/internals/protocols.md describes its parts.
#pragma once

#include "remote/objects/object_keys.h"
#include "remote/remote.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::remote {

struct ListedRun {
  ManifestName manifest;
  RemoteRun run;  ///< the content of the manifest
};

/// An object "listing/00000064-SHA256.zst", which holds the content of `count` manifests (here 64).
struct ListingPart {
  std::uint64_t count = 0;
  std::string sha256;       ///< SHA-256 of the object, in hex
  std::uint64_t bytes = 0;  ///< length of the object

  std::string key() const;
};

/// Parses such a key; nullopt for any other key.
std::optional<ListingPart> parse_part_key(std::string_view key);

/// Returns the existing parts, except any that is longer than a part can be.
std::vector<ListingPart> list_parts(ObjectStore& objects);

/// Passes the runs of a part to `sink`, ordered by key. Throws NotFound if the part is gone, and
/// Damaged, possibly after some calls of `sink`, if it does not match its name or is not a part.
/// Needs memory in proportion to its length, whatever the part claims.
void read_part(ObjectStore& objects, const ListingPart& part,
               const std::function<void(ListedRun)>& sink);

/// Parses the content of a part whose SHA-256 has been verified.
void parse_part(std::span<const std::byte> object, std::uint64_t count,
                const std::function<void(ListedRun)>& sink);

/// Adds the content of a manifest that was just written. Also merges parts of similar length, so
/// that there are never more than some dozens, even if many processes write at once. Failures are
/// ignored, because the manifest has the same content.
void enter_in_listing(ObjectStore& objects, const ListedRun& listed) noexcept;

/// Replaces all parts by one with the content of the latest manifests. Throws what the object store
/// throws.
void write_listing_anew(ObjectStore& objects, unsigned threads);

/// Returns a line for each damage of the listing: damaged parts, and entries that differ from the
/// manifest of one of these runs.
std::vector<std::string> check_listing(ObjectStore& objects, std::span<const RemoteRun> runs);

}  // namespace flor::remote
