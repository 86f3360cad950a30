// The names of the files and directories of an AtomicDirectory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

struct CheckpointName {
  std::int64_t index = 0;
  bool forced = false;
};

/// The names of one saver. A name belongs to the saver only as a whole:
/// "m_checkpoint_x_checkpoint_3" is not a name of the saver "m".
class CheckpointNames {
 public:
  /// Throws Error if `name` cannot be the name of a file.
  explicit CheckpointNames(std::string name);

  std::string complete(const CheckpointName& checkpoint) const;
  std::optional<CheckpointName> parse_complete(std::string_view file) const;

  /// Temporary names, for a checkpoint being written, for one being deleted, and for a new link.
  /// They are hidden, and no reader takes them for a checkpoint. `token` makes them unique.
  std::string partial(const std::string& token) const { return leftover(token, "partial"); }
  std::string removed(const std::string& token) const { return leftover(token, "removed"); }
  std::string new_link(const std::string& token) const { return leftover(token, "link"); }
  bool is_leftover(std::string_view file) const;

  std::string link() const { return name_ + ".latest_checkpoint"; }
  std::string lock() const { return "." + name_ + ".lock"; }

 private:
  std::string leftover(const std::string& token, const char* kind) const {
    return "." + name_ + ".checkpoint." + token + "." + kind;
  }
  std::string name_;
};

}  // namespace flor::detail
