// The keys of all objects in an object store, and manifests as text.
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
/// Whether Flor would name a parcel or a catalog so: any other object is not Flor's.
bool is_content_key(std::string_view key);
/// Whether Flor would name so a list of the unreferenced objects that `prune` found.
bool is_doomed_key(std::string_view key);
/// "0123...": the last part of a key, without an extension.
std::string name_of(std::string_view key);

/// Parts of the key "runs/KEY/00000003.json", or "runs/KEY/00000003-0123456789abcdef.json" where
/// the server cannot make objects exclusively.
struct ManifestName {
  std::string run;
  std::int64_t sequence = 0;
  std::string writer;  ///< 16 hex digits, or empty

  std::string key() const;
  auto operator<=>(const ManifestName&) const = default;
};
std::optional<ManifestName> parse_manifest_key(std::string_view key);

/// Thrown for a run that a newer Flor spooled.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// Whether a manifest may hold these fields: names become names of files, and numbers are added up.
bool is_sensible(const RemoteRun& run);
std::string print_manifest(const RemoteRun& run);
/// Damaged if the text is no manifest, NewerFormat if a newer Flor wrote it. `where` is for
/// messages.
RemoteRun parse_manifest(std::span<const std::byte> text, const std::string& where);
/// The same for an object; Damaged also if it is another run's.
RemoteRun read_manifest(ObjectStore& objects, const ManifestName& name);

/// The manifests of all runs, or of one run; of each run the latest comes last.
std::vector<ManifestName> list_manifests(ObjectStore& objects, std::string_view run = {});
/// Reads the latest manifest of the run; nothing if there is none.
std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run);

/// Writes a manifest that takes the place of `before`, the latest of the run (none: it is the
/// first). Returns nothing, and changes nothing, if another writer has written one.
std::optional<ManifestName> put_manifest(ObjectStore& objects, const RemoteRun& run,
                                         const std::optional<ManifestName>& before);

}  // namespace flor::remote
