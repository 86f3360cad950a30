// Checkpoints as directories that exist either completely or not at all, written by one process or
// by all ranks of a training together. Independent of libtorch.
#pragma once

#include <flor/dist/group.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor {

/// Which ranks write a checkpoint, and which of them can force it. A forced checkpoint is never
/// deleted by `keep_last`.
enum class SaveStrategy {
  /// All ranks write into one directory. The checkpoint is forced if any rank asks for it.
  sync_any,
  /// All ranks write into one directory. The checkpoint is forced if all ranks ask for it.
  sync_all,
  /// Each rank writes its own directories, when it wants. See latest_common().
  async,
  /// A single process writes, without a group.
  single,
};

std::string_view to_string(SaveStrategy strategy);  ///< the name of the enumerator, e.g. "sync_any"
/// Parses the name of an enumerator. Throws flor::Error with the list of names.
SaveStrategy parse_save_strategy(std::string_view name);

/// How an AtomicDirectory saves.
struct AtomicDirectoryOptions {
  /// Distinguishes savers that use the same directory. With `async` each rank appends its number:
  /// "NAME_rank_3".
  std::string name = "AtomicDirectory";
  SaveStrategy strategy = SaveStrategy::sync_any;  ///< which ranks write
  /// How many complete checkpoints are kept, not counting forced ones; 0 keeps all. While a new one
  /// is being written, there is one more on the disk.
  int keep_last = 0;
};

/// A complete checkpoint on the disk.
struct SavedDirectory {
  std::int64_t index = 0;      ///< counts from 0
  bool forced = false;         ///< never deleted by keep_last
  std::filesystem::path path;  ///< the directory
};

/// Saves checkpoints as directories NAME_checkpoint_I or NAME_checkpoint_I_force, and keeps the
/// link NAME.latest_checkpoint pointing to the newest. The link is relative, so the parent
/// directory may be moved or mounted elsewhere.
///
///   flor::AtomicDirectory saver("out", group, {.name = "model", .keep_last = 2});
///   const auto directory = saver.prepare();          // all ranks: the same new directory
///   flor::atomic_save(directory / ("rank" + std::to_string(rank)), net, optimizer);
///   saver.commit();                                  // all ranks: it is complete and durable
///
/// A directory gets its name when all of its content is on the disk. So a directory with such a
/// name is complete, even after a crash or a loss of power; the link is only a convenience. A
/// checkpoint is deleted only when its successor is complete. The next `prepare` removes what a
/// crash has left.
///
/// With sync_any and sync_all, all ranks call every function in the same order. If a call fails on
/// one rank, it throws flor::Error with the reason on all of them; if a rank does not come, the
/// others throw when the group's deadline has passed. latest() then tells what is complete. To be
/// used by one thread.
class AtomicDirectory {
 public:
  /// Creates `directory` if it does not exist. `group` must outlive this object. Except with
  /// `async`, all ranks must see the same file system. Throws flor::Error on all ranks if their
  /// options differ, and flor::Busy if another process saves under this name.
  AtomicDirectory(std::filesystem::path directory, Group& group,
                  AtomicDirectoryOptions options = {});
  /// Saves from a single process: the strategy is SaveStrategy::single, whatever the options say.
  explicit AtomicDirectory(std::filesystem::path directory, AtomicDirectoryOptions options = {});
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  /// Begins a checkpoint and returns an empty directory to write into. Until `commit` its name is
  /// one that readers ignore. A checkpoint that was begun before and not committed is discarded.
  std::filesystem::path prepare(bool force_save = false);
  /// Completes the checkpoint: syncs the written files, gives the directory its final name, updates
  /// the link, and deletes the checkpoints that `keep_last` does not keep. Returns the final path.
  /// Throws flor::Error if no checkpoint was begun, or the disk fails.
  std::filesystem::path commit();

  /// The newest complete checkpoint under the name of this saver (with `async`, of this rank).
  std::optional<std::filesystem::path> latest() const;
  /// All complete checkpoints under the name of this saver, oldest first.
  std::vector<SavedDirectory> checkpoints() const;
  /// With `async`: the newest index for which every rank has a checkpoint. All ranks must call it.
  std::optional<std::int64_t> latest_common();

 private:
  class Files;
  struct Begun;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Begun> begun_;
  Group* group_ = nullptr;  ///< null with async and single
  Group* all_ = nullptr;
  AtomicDirectoryOptions options_;
};

/// The newest complete checkpoint of the saver `name` in `directory`. Writes nothing.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& directory,
                                                       std::string_view name = "AtomicDirectory");

}  // namespace flor
