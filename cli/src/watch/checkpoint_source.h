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

/// True of what names a checkpoint of Flor's own, not a file.
inline bool is_reference(const std::string& path) { return !path.starts_with('/'); }

/// As people read it: of a reference the first digits of the key.
inline std::string shown_path(const std::string& path) {
  const std::size_t at = path.find('@');
  return is_reference(path) && at != path.npos ? path.substr(0, 8) + path.substr(at) : path;
}

/// Not thread-safe: the thread that finds is the only one that uses it.
class CheckpointSource {
 public:
  using Clock = std::chrono::steady_clock;
  using Known = std::pair<std::string, store::FileIdentity>;

  virtual ~CheckpointSource() = default;

  /// The names under which the store remembers what was found there.
  virtual std::vector<std::string> places() const = 0;
  /// Everything there, complete or not, oldest first.
  virtual std::vector<Known> present(std::size_t place) const = 0;
  /// What is there under this path now; nothing if it is gone.
  virtual std::optional<store::FileIdentity> identify_at(const std::string& path) const = 0;
  /// It need not be found, as long as it is this.
  virtual void know(std::size_t place, const std::string& path,
                    const store::FileIdentity& file) = 0;

  /// Readable when there is something to do; so is it at `due`.
  virtual int descriptor() const = 0;
  virtual Clock::time_point due() const = 0;
  /// Does what is to be done, and hands over what is found as soon as it is, the oldest first.
  virtual void step(const std::function<void(Found)>& hand_over) = 0;

  /// How much may still come of what is there: files that somebody writes, runs that are being
  /// recorded.
  virtual std::size_t expected() const = 0;
  /// Paths of all that is incomplete.
  virtual std::vector<std::string> incomplete() const = 0;
  /// What people should know since the last call.
  virtual std::vector<std::string> remarks() = 0;
};

}  // namespace flor::cli
