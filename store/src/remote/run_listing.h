// The listing of an object store: the content of many manifests in few objects, so that they are
// not read one by one. It only saves requests: a list of keys says which manifests are there, and
// those that the listing lacks are read. docs/internals/protocols.md describes its parts.
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
  RemoteRun run;  ///< its content
};

/// "listing/00000064-SHA256.zst": the content of so many manifests.
struct ListingPart {
  std::uint64_t count = 0;
  std::string sha256;       ///< of the object, in hex
  std::uint64_t bytes = 0;  ///< of the object

  std::string key() const;
};

/// "listing/00000064-SHA256.zst"; nothing for any other key.
std::optional<ListingPart> parse_part_key(std::string_view key);

/// The parts that are there; none that is longer than a part can be.
std::vector<ListingPart> list_parts(ObjectStore& objects);

/// Hands over the runs of a part, in the order of their keys. Throws NotFound if it is gone,
/// Damaged, perhaps after some were handed over, where it does not match its name or is no part.
/// Takes memory in proportion to its length, whatever it claims to have.
void read_part(ObjectStore& objects, const ListingPart& part,
               const std::function<void(ListedRun)>& sink);

/// The same for an object that matches its SHA-256.
void parse_part(std::span<const std::byte> object, std::uint64_t count,
                const std::function<void(ListedRun)>& sink);

/// Adds the content of a manifest that was just written, and merges parts of about the same length
/// once they are many, so that there are at most some dozens, however many write at the same time.
/// A failure is no concern of the caller: the manifest holds the same.
void enter_in_listing(ObjectStore& objects, const ListedRun& listed) noexcept;

/// Replaces all parts by one with the content of the latest manifests. Throws what the object store
/// throws.
void write_listing_anew(ObjectStore& objects, unsigned threads);

/// Damage of the listing, a line each: damaged parts, and entries that differ from the manifest of
/// one of these runs.
std::vector<std::string> check_listing(ObjectStore& objects, std::span<const RemoteRun> runs);

}  // namespace flor::remote
