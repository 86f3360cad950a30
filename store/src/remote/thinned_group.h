// A run, or the ranks of a group, in an object store, of which some checkpoints are to go.
#pragma once

#include "remote/contents.h"
#include "remote/facts/run_catalog.h"
#include "remote/objects/object_keys.h"
#include "remote/remote.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::remote {

class ThinnedGroup {
 public:
  /// `ranks`: rank 0 first. Throws what reading their catalogs throws.
  ThinnedGroup(ObjectStore& objects, std::vector<RemoteRun> ranks);

  /// Decides by the given rules, or the program's own. Returns nothing if there are none; else
  /// whether what stays is as little as they allow. Throws as store::retain does, and UsageError if
  /// the best checkpoints of a group are asked for whose rank 0 is not there.
  std::optional<bool> decide(const PruneOptions& options);
  /// The number of checkpoints to be deleted.
  std::int64_t deleted() const;
  /// The runs that `write` gives new catalogs, and the parcels that these will name.
  std::map<std::string, std::set<std::string>> plan() const;
  /// Writes new catalogs and manifests, and removes the old manifests. Busy if another process is
  /// spooling the run.
  void write(std::int64_t now_us);

 private:
  struct Member {
    RemoteRun run;
    std::unique_ptr<RunCatalog> catalog;
    std::set<Content::Name> kept = {};
    std::int64_t stored = 0;
  };
  void read_kept(store::Connection& from);
  static bool is_thinner(const Member& member) {
    return member.stored > static_cast<std::int64_t>(member.kept.size());
  }
  static RunContents contents_of(const Member& member, std::int64_t now_us);
  void write(Member& member, std::int64_t now_us);

  ObjectStore& objects_;
  std::vector<Member> members_;
};

}  // namespace flor::remote
