// The interface by which a watch finds checkpoints: in directories of any program, or in Flor's own
// runs.
#pragma once

#include "queue/job_queue.h"

#include <flor/store/digest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

/// A complete checkpoint that is new, or whose content has changed.
struct FoundCheckpoint {
  std::size_t place = 0;  ///< index in `places`
  std::string path;       ///< absolute path; for a checkpoint of Flor's own KEY@EPOCH or KEY@NAME
  store::FileIdentity file;
  store::Digest content;
};

/// Whether `path` names a checkpoint of Flor's own (KEY@EPOCH), not a file.
inline bool is_reference(const std::string& path) { return !path.starts_with('/'); }

/// The path as shown to users: in a reference only the first digits of the key.
inline std::string shown_path(const std::string& path) {
  const std::size_t at = path.find('@');
  return is_reference(path) && at != path.npos ? path.substr(0, 8) + path.substr(at) : path;
}

/// Not thread-safe: only the finder's thread calls it.
class CheckpointSource {
 public:
  using Clock = std::chrono::steady_clock;
  using Known = std::pair<std::string, store::FileIdentity>;

  virtual ~CheckpointSource() = default;

  /// The places to watch, under the names by which the store remembers what was found there.
  virtual std::vector<std::string> places() const = 0;
  /// All checkpoints at a place, complete or not, oldest first.
  virtual std::vector<Known> present(std::size_t place) const = 0;
  /// The identity of the checkpoint that is under this path at the moment; nullopt if it is gone.
  virtual std::optional<store::FileIdentity> identify_at(const std::string& path) const = 0;
  /// Marks a checkpoint as known: it is not reported as long as it has this identity.
  virtual void know(std::size_t place, const std::string& path,
                    const store::FileIdentity& file) = 0;

  /// A descriptor that is readable when `step` has work; there is also work at the time `due`.
  virtual int descriptor() const = 0;
  virtual Clock::time_point due() const = 0;
  /// Does the work that is due, and calls `hand_over` with each checkpoint as soon as it is found,
  /// oldest first.
  virtual void step(const std::function<void(FoundCheckpoint)>& hand_over) = 0;

  /// The number of things from which more may come: files that are being written, runs that are
  /// being recorded.
  virtual std::size_t expected() const = 0;
  /// Paths of all incomplete checkpoints.
  virtual std::vector<std::string> incomplete() const = 0;
  /// Returns the remarks for the user since the last call.
  virtual std::vector<std::string> remarks() = 0;
};

}  // namespace flor::cli
