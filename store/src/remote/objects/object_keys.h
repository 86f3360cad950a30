// Keys (names) of the objects in an object store, and the text of manifests.
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
/// True if the name is a SHA-256 in hex, so that it can be part of a key.
bool is_content_name(std::string_view name);
/// True if the key has the form of a parcel's or catalog's. Other objects do not belong to Flor.
bool is_content_key(std::string_view key);
/// True if the key has the form of a list of unreferenced objects that `prune` found.
bool is_doomed_key(std::string_view key);
/// Returns the last part of a key without its extension: "0123...".
std::string name_of(std::string_view key);

/// The parts of a manifest's key, "runs/KEY/00000003.json". On servers that cannot create objects
/// exclusively, the key is "runs/KEY/00000003-0123456789abcdef.json".
struct ManifestName {
  std::string run;
  std::int64_t sequence = 0;
  std::string writer;  ///< 16 hex digits, or empty

  std::string key() const;
  auto operator<=>(const ManifestName&) const = default;
};
std::optional<ManifestName> parse_manifest_key(std::string_view key);

/// Thrown for a run that a newer Flor has spooled.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// True if a manifest may have these values. They must be checked, because names are used as file
/// names and numbers are added up.
bool is_sensible(const RemoteRun& run);
std::string print_manifest(const RemoteRun& run);
/// Throws Damaged if the text is not a manifest, NewerFormat if a newer Flor wrote it. `where`: its
/// place, for messages.
RemoteRun parse_manifest(std::span<const std::byte> text, const std::string& where);
/// Reads and parses a manifest. Throws Damaged also if it belongs to another run.
RemoteRun read_manifest(ObjectStore& objects, const ManifestName& name);

/// Returns the manifests of all runs, or of one run. Those of a run are in order, the latest last.
std::vector<ManifestName> list_manifests(ObjectStore& objects, std::string_view run = {});
/// Reads the latest manifest of the run; nullopt if there is none.
std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run);

/// Writes a manifest that replaces `before`, the latest of the run (nullopt: there is none yet).
/// Returns nullopt, and changes nothing, if another writer has written one meanwhile.
std::optional<ManifestName> put_manifest(ObjectStore& objects, const RemoteRun& run,
                                         const std::optional<ManifestName>& before);

}  // namespace flor::remote
