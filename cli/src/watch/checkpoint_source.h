// Where a watch finds checkpoints: directories of any program, or Flor's own runs.
#pragma once

#include "queue/jobs.h"

#include <flor/store/digest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {

/// A complete checkpoint that is new, or has another content.
struct Found {
  std::size_t place = 0;  ///< index of `places`
  std::string path;       ///< absolute; of Flor's own KEY@EPOCH or KEY@NAME
  store::FileIdentity file;
  store::Digest content;
};

/// Whether it names a checkpoint of Flor's own, not a file.
inline bool is_reference(const std::string& path) { return !path.starts_with('/'); }

/// The path as shown to users: a reference with the first digits of its key.
inline std::string shown_path(const std::string& path) {
  const std::size_t at = path.find('@');
  return is_reference(path) && at != path.npos ? path.substr(0, 8) + path.substr(at) : path;
}

/// Not thread-safe: only the finder's thread uses it.
class CheckpointSource {
 public:
  using Clock = std::chrono::steady_clock;
  using Known = std::pair<std::string, store::FileIdentity>;

  virtual ~CheckpointSource() = default;

  /// The names under which the store remembers the checkpoints found there.
  virtual std::vector<std::string> places() const = 0;
  /// Everything there, complete or not, oldest first.
  virtual std::vector<Known> present(std::size_t place) const = 0;
  /// The identity of the checkpoint under this path now; nothing if it is gone.
  virtual std::optional<store::FileIdentity> identify_at(const std::string& path) const = 0;
  /// Does not report the checkpoint as found, as long as it has this identity.
  virtual void know(std::size_t place, const std::string& path,
                    const store::FileIdentity& file) = 0;

  /// Readable when `step` has something to do; it also has at `due`.
  virtual int descriptor() const = 0;
  virtual Clock::time_point due() const = 0;
  /// Does the work that is due, and hands over each checkpoint as soon as it is found, oldest
  /// first.
  virtual void step(const std::function<void(Found)>& hand_over) = 0;

  /// How many more may still come from there: files that are being written, runs that are being
  /// recorded.
  virtual std::size_t expected() const = 0;
  /// Paths of all incomplete checkpoints.
  virtual std::vector<std::string> incomplete() const = 0;
  /// Remarks for the user since the last call.
  virtual std::vector<std::string> remarks() = 0;
};

}  // namespace flor::cli
