// The objects that the runs in an object store refer to: all others may be removed there.
#pragma once

#include "remote/objects/object_keys.h"
#include "remote/remote.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::remote {

/// Manifests and catalogs never change, so each is read once. Not thread-safe.
class References {
 public:
  enum class Unreadable { refused, skipped };

  explicit References(ObjectStore& objects) : objects_(objects) {}

  /// Keys of all parcels and catalogs that the manifests which are there now refer to, except those
  /// of the runs `without`. A run whose manifests are replaced meanwhile is looked at again until
  /// all of its manifests were read. Throws Busy if that has no end, Damaged where a run's catalog
  /// is missing or damaged, unless these are to be `skipped`.
  std::set<std::string> read(const std::set<std::string>& without = {},
                             Unreadable unreadable = Unreadable::refused);

 private:
  /// False if one of the manifests is gone.
  bool add(const std::vector<ManifestName>& manifests, Unreadable unreadable,
           std::set<std::string>& keys);
  /// The keys that one manifest refers to; nothing if it is gone.
  std::optional<std::vector<std::string>> look_up(const ManifestName& manifest, bool is_latest,
                                                  Unreadable unreadable);
  std::vector<std::string> parcels_of(const RemoteRun& run);
  [[noreturn]] void throw_unknown(const ManifestName& manifest, const char* what) const;

  ObjectStore& objects_;
  std::map<ManifestName, std::vector<std::string>> known_;   ///< keys by manifest
  std::map<std::string, std::vector<std::string>> parcels_;  ///< by catalog
};

}  // namespace flor::remote
