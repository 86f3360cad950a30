// Checkpoints that are not in this store but in an object store, and are fetched one at a time when
// a replay needs them; the replay waits meanwhile.
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

/// Knows the facts of such checkpoints, and how to fetch their content. The replaying process does
/// not access the network itself, but starts `flor fetch`.
class Elsewhere {
 public:
  /// Returns the object that FLOR_ELSEWHERE describes, which `flor replay --from` sets for its
  /// workers; null if it is not set. The variable is read once. Throws Error if it is malformed.
  static const Elsewhere* of_process();

  /// `facts`: directory of a store that has the rows of the runs but none of their content. `flor`:
  /// path of the program `flor`. `url`: the object store.
  Elsewhere(std::filesystem::path facts, std::string flor, std::string url);
  /// Returns the value of FLOR_ELSEWHERE that describes this object.
  std::string text() const;

  /// Adds to `here` the checkpoints of a run that are only in the object store, with ids below 0.
  /// For a run that was recorded here, adds only checkpoints that it has had here with equal
  /// content.
  void add_to(std::vector<CheckpointInfo>& here, const Catalog& catalog, const Run& run) const;
  /// Returns a reader for a checkpoint with such an id. It knows the facts; `read` would throw.
  CheckpointReader facts_of(std::int64_t checkpoint) const;
  /// Fetches a checkpoint with such an id into `store` and returns its id there. Waits for other
  /// processes that fetch for the same run. Throws Error with the message of `flor fetch`.
  std::int64_t bring(const Store& store, std::int64_t run, std::int64_t checkpoint) const;

  struct Arrived {
    std::int64_t checkpoints = 0;
    std::uint64_t bytes = 0;
  };
  /// Returns the total that all processes have fetched.
  Arrived arrived() const;

 private:
  std::filesystem::path directory_;
  std::string flor_, url_;
  std::shared_ptr<Store> facts_;
};

/// Returns the checkpoints of a run that can be read: those in this store, and those that would be
/// fetched (Elsewhere).
std::vector<CheckpointInfo> reachable_checkpoints(const Catalog& catalog, std::int64_t run);

/// Prints a key as "0:0:25:train".
std::string print_place(const CheckpointKey& key);
/// Reverses `print_place`. Throws UsageError for any other text.
CheckpointKey parse_place(std::string_view text);

}  // namespace flor::store
