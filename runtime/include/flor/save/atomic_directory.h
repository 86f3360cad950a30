// Directories of checkpoints that are there as a whole or not at all, written by one process or by
// all ranks of a training together. Knows nothing of libtorch.
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

/// The ranks that write a checkpoint, and when it is forced. Forced ones are exempt from
/// `keep_last`.
enum class SaveStrategy {
  /// All ranks write into one directory; it is forced if any of them asks for it.
  sync_any,
  /// The same; it is forced if all of them ask for it.
  sync_all,
  /// Each rank writes directories of its own, when it likes. See latest_common().
  async,
  /// One process, without a group.
  single,
};

std::string_view to_string(SaveStrategy strategy);  ///< "sync_any"
/// Parses the name. Throws flor::Error with the list of names.
SaveStrategy parse_save_strategy(std::string_view name);

/// How an AtomicDirectory saves.
struct AtomicDirectoryOptions {
  /// Tells savers in one directory apart; a rank's own name is "NAME_rank_3" with `async`.
  std::string name = "AtomicDirectory";
  SaveStrategy strategy = SaveStrategy::sync_any;  ///< which ranks save
  /// How many finished checkpoints that are not forced are kept, at least 1; 0 keeps all. While one
  /// is written, there is one more on the disk.
  int keep_last = 0;
};

/// A complete checkpoint.
struct SavedDirectory {
  std::int64_t index = 0;      ///< counts from 0
  bool forced = false;         ///< never deleted by keep_last
  std::filesystem::path path;  ///< the directory
};

/// Saves checkpoints as directories NAME_checkpoint_I or NAME_checkpoint_I_force, and keeps the
/// link NAME.latest_checkpoint on the newest. It is relative, so the whole may be moved or mounted
/// elsewhere.
///
///   flor::AtomicDirectory saver("out", group, {.name = "model", .keep_last = 2});
///   const auto directory = saver.prepare();          // all ranks: the same new directory
///   flor::atomic_save(directory / ("rank" + std::to_string(rank)), net, optimizer);
///   saver.commit();                                  // all ranks: it is complete and durable
///
/// A directory gets its name when all of it is on the disk, so a directory with a name is complete,
/// also after a crash or a loss of power at any instant; the link is a convenience. Nothing is
/// deleted before its successor is complete. The remains of a crash are removed by the next
/// `prepare`.
///
/// With sync_any and sync_all every function is called by all ranks in the same order. If one fails
/// on one rank, all of them throw flor::Error with the reason; if a rank does not come, the others
/// throw when the group's deadline is over. latest() tells what is complete. For one thread.
class AtomicDirectory {
 public:
  /// Creates `directory` if need be. `group` must outlive this. All ranks see the same file system,
  /// except with `async`. Throws flor::Error on all ranks if their options differ; flor::Busy if
  /// another process saves under this name.
  AtomicDirectory(std::filesystem::path directory, Group& group,
                  AtomicDirectoryOptions options = {});
  /// SaveStrategy::single, whatever the options say.
  explicit AtomicDirectory(std::filesystem::path directory, AtomicDirectoryOptions options = {});
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  /// Begins a checkpoint: an empty directory to write into, under a name that no reader takes for a
  /// checkpoint. One that was begun before and not committed is discarded.
  std::filesystem::path prepare(bool force_save = false);
  /// Ends it: syncs the files written, gives the directory its name, moves the link, and deletes
  /// the checkpoints that `keep_last` does not keep. Returns the path that it has now. Throws
  /// flor::Error if nothing is prepared, or the disk fails.
  std::filesystem::path commit();

  /// The newest complete checkpoint of this rank's name.
  std::optional<std::filesystem::path> latest() const;
  /// All of them, oldest first.
  std::vector<SavedDirectory> checkpoints() const;
  /// The newest index that every rank has, for `async`; called by all ranks.
  std::optional<std::int64_t> latest_common();

 private:
  class Files;
  struct Begun;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Begun> begun_;
  Group* group_ = nullptr;  ///< none with async and single
  Group* all_ = nullptr;
  AtomicDirectoryOptions options_;
};

/// The newest complete checkpoint of `name` in `directory`, which is only read.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& directory,
                                                       std::string_view name = "AtomicDirectory");

}  // namespace flor
