// Deletes some checkpoints of a run, or of all ranks of a group, in an object store.
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
  /// `ranks` begins with rank 0. Throws what reading the catalogs throws.
  ThinnedGroup(ObjectStore& objects, std::vector<RemoteRun> ranks);

  /// Decides what to delete by `options.rules`, or by the program's strategy. Returns nullopt if
  /// there are neither; otherwise whether the kept checkpoints fit under KeepRules::under. Throws
  /// like store::retain, and UsageError if the rules ask for the best checkpoints of a group whose
  /// rank 0 is missing.
  std::optional<bool> decide(const PruneOptions& options);
  /// Returns the number of checkpoints that will be deleted.
  std::int64_t deleted() const;
  /// Returns, for each run that `write` will give a new catalog, the parcels that it will refer to.
  std::map<std::string, std::set<std::string>> plan() const;
  /// Writes new catalogs and manifests, and removes the old manifests. Throws Busy if another
  /// process is spooling the run.
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
