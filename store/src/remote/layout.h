// Where everything lies in an object store: the keys of its objects, and manifests as text.
#pragma once

#include <flor/store/remote.h>

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
std::string manifest_key(std::string_view run, std::int64_t sequence);
/// Whether Flor would name a parcel or a catalog so: anything else is somebody else's.
bool is_content_key(std::string_view key);
/// The same of a list of what `prune` found unreferred to.
bool is_doomed_key(std::string_view key);
/// "0123...": the last part of a key, without an extension.
std::string name_of(std::string_view key);

/// The run and the number of "runs/KEY/00000003.json"; nothing if it is no such key.
struct ManifestName {
  std::string run;
  std::int64_t sequence = 0;
};
std::optional<ManifestName> parse_manifest_key(std::string_view key);

std::string print_manifest(const RemoteRun& run);
/// Damaged if the text is no manifest, Error if a newer Flor wrote it. `where` is for messages.
RemoteRun parse_manifest(std::span<const std::byte> text, const std::string& where);

/// The manifests that are there, of every run the latest last.
std::vector<ManifestName> list_manifests(ObjectStore& objects);
/// Reads the latest manifest of the run; nothing if there is none.
std::optional<RemoteRun> latest_manifest(ObjectStore& objects, std::string_view run);

}  // namespace flor::remote
