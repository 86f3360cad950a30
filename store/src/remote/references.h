// Finds the objects that runs in an object store refer to; all others may be removed.
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

/// Reads manifests and catalogs. As they never change, each is read only once. Not thread-safe.
class References {
 public:
  enum class Unreadable { refused, skipped };

  explicit References(ObjectStore& objects) : objects_(objects) {}

  /// Returns the keys of all parcels and catalogs that existing manifests refer to, except those of
  /// the runs `without`. If manifests of a run are replaced meanwhile, reads the run again until
  /// all its manifests were read. Throws Busy if that does not end, Damaged if a run's catalog is
  /// missing or damaged, unless `unreadable` says that such runs are skipped.
  std::set<std::string> read(const std::set<std::string>& without = {},
                             Unreadable unreadable = Unreadable::refused);

 private:
  /// Returns false if one of the manifests is gone.
  bool add(const std::vector<ManifestName>& manifests, Unreadable unreadable,
           std::set<std::string>& keys);
  /// Returns the keys that one manifest refers to; nullopt if the manifest is gone.
  std::optional<std::vector<std::string>> look_up(const ManifestName& manifest, bool is_latest,
                                                  Unreadable unreadable);
  std::vector<std::string> parcels_of(const RemoteRun& run);
  [[noreturn]] void throw_unknown(const ManifestName& manifest, const char* what) const;

  ObjectStore& objects_;
  std::map<ManifestName, std::vector<std::string>> known_;   ///< keys that a manifest refers to
  std::map<std::string, std::vector<std::string>> parcels_;  ///< parcels by catalog
};

}  // namespace flor::remote
