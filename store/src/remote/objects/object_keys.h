// Where everything lies in an object store: the keys of its objects, and manifests as text.
#pragma once

#include "remote/remote.h"

#include <flor/store/error.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::remote {

inline constexpr const char* kParcels = "parcels/";
inline constexpr const char* kCatalogs = "catalogs/";
inline constexpr const char* kRuns = "runs/";
inline constexpr const char* kDoomed = "doomed/";

std::string parcel_key(std::string_view sha256);
std::string catalog_key(std::string_view sha256);
/// Whether this is a SHA-256 in hex, so that it can be part of a key.
bool is_content_name(std::string_view name);
/// Whether Flor would name a parcel or a catalog so: anything else is somebody else's.
bool is_content_key(std::string_view key);
/// The same of a list of what `prune` found unreferred to.
bool is_doomed_key(std::string_view key);
/// "0123...": the last part of a key, without an extension.
std::string name_of(std::string_view key);

/// Of "runs/KEY/00000003.json", or "runs/KEY/00000003-0123456789abcdef.json" where the server
/// cannot make objects exclusively.
struct ManifestName {
  std::string run;
  std::int64_t sequence = 0;
  std::string writer;  ///< 16 hex digits, or empty

  std::string key() const;
  auto operator<=>(const ManifestName&) const = default;
};
std::optional<ManifestName> parse_manifest_key(std::string_view key);

/// What was spooled by a newer Flor.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

std::string print_manifest(const RemoteRun& run);
/// Damaged if the text is no manifest, NewerFormat if a newer Flor wrote it. `where` is for
/// messages.
RemoteRun parse_manifest(std::span<const std::byte> text, const std::string& where);
/// The same of an object; Damaged also if it is another run's.
RemoteRun read_manifest(ObjectStore& objects, const ManifestName& name);

/// The manifests that are there of all runs, or of one: of every run the latest last.
std::vector<ManifestName> list_manifests(ObjectStore& objects, std::string_view run = {});
/// Reads the latest manifest of the run; nothing if there is none.
std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run);

/// Writes a manifest that takes the place of `before`, the latest of the run (none: it is the
/// first). False if somebody else has written one: nothing was changed then.
bool put_manifest(ObjectStore& objects, const RemoteRun& run,
                  const std::optional<ManifestName>& before);

}  // namespace flor::remote
