// Checkpoints of runs that lie in another place, an object store, and are fetched when they are
// read: one by one, while a replay that needs them waits.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/checkpoint.h>
#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace flor::store {

/// The facts of such checkpoints without their content, and the program that fetches them. The
/// process that replays has no network access of its own: `flor fetch` does it.
class Elsewhere {
 public:
  /// As FLOR_ELSEWHERE says, which `flor replay --from` sets for its workers; null without. Looked
  /// up once. Throws Error for a text that is none.
  static const Elsewhere* of_process();

  /// `facts`: directory of a store that has the rows of the runs and none of their content.
  /// `flor`: the program. `url`: the object store.
  Elsewhere(std::filesystem::path facts, std::string flor, std::string url);
  /// The value of FLOR_ELSEWHERE.
  std::string text() const;

  /// Adds to the checkpoints of a run those that are only there, with numbers below 0: for a run
  /// that was recorded here only those that it has had, in the same state.
  void add_to(std::vector<CheckpointInfo>& here, const Catalog& catalog, const Run& run) const;
  /// Describes a checkpoint with such a number; `read` would find nothing.
  CheckpointReader facts_of(std::int64_t checkpoint) const;
  /// Fetches a checkpoint with such a number to `store`, and returns its number there. Waits for
  /// other processes that fetch for the same run. Throws Error with the message of `flor fetch`.
  std::int64_t bring(const Store& store, std::int64_t run, std::int64_t checkpoint) const;

  struct Arrived {
    std::int64_t checkpoints = 0;
    std::uint64_t bytes = 0;
  };
  /// The total that all processes have fetched.
  Arrived arrived() const;

 private:
  std::filesystem::path directory_;
  std::string flor_, url_;
  std::shared_ptr<Store> facts_;
};

/// The checkpoints of a run that can be read: those that are here, and those that are fetched when
/// they are read.
std::vector<CheckpointInfo> reachable_checkpoints(const Catalog& catalog, std::int64_t run);

/// "0:0:25:train", and back.
std::string print_place(const CheckpointKey& key);
/// Throws UsageError.
CheckpointKey parse_place(std::string_view text);

}  // namespace flor::store
