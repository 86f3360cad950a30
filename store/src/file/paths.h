// The paths of a store's files. Only this file knows their names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

struct Paths {
  std::filesystem::path home;
  static constexpr const char* kIndex = "catalog.db";
  /// Relative to the home, or the absolute path of an index outside it.
  std::string index = kIndex;
  /// True if each machine has its own index of this home (file/shared_home.h).
  bool shared = false;

  std::filesystem::path catalog() const { return home / index; }
  /// Name of an index that is being built.
  static constexpr const char* kNewIndex = "catalog.new";
  /// These paths with `kNewIndex`, in the same directory, as the index.
  Paths with_new_index() const {
    Paths made = *this;
    made.index = (std::filesystem::path(index).parent_path() / kNewIndex).string();
    return made;
  }
  /// The mark of a shared home: exists if each machine has its own index.
  std::filesystem::path indexes() const { return home / "indexes"; }
  /// The database of waiting evaluations and of checkpoints that watches have seen.
  std::filesystem::path queue() const { return home / "queue.db"; }
  /// A queue that is being built.
  std::filesystem::path new_queue() const { return home / "queue.new"; }
  /// A file that occupies space until flor gc, keep or fsck --repair needs it to free more.
  std::filesystem::path reserve() const { return home / "reserve"; }
  std::filesystem::path packs() const { return home / "packs"; }
  /// Packs are grouped in directories by the first two digits of their names, so that even with a
  /// million packs a directory has only a few thousand.
  std::filesystem::path pack(std::string_view name) const {
    return packs() / std::string(name.substr(0, 2)) / (std::string(name) + ".pack");
  }
  /// Contains, for each run, the journals of the processes that recorded, replayed or changed it.
  std::filesystem::path runs() const { return home / "runs"; }
  std::filesystem::path run(std::string_view key) const {
    return runs() / std::string(key.substr(0, 2)) / std::string(key);
  }
  /// Contains the results of evaluations: a log for each process that evaluated.
  std::filesystem::path evaluations() const { return home / "evaluations"; }
  /// Contains empty files named after runs: such a run has a journal that the index may not know
  /// yet.
  std::filesystem::path announced() const { return runs() / "new"; }
  /// True if the file has the name of a pack. Other files in the directory belong to the user.
  static bool is_pack(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    return path.extension() == ".pack" && name.size() == 16 &&
           name.find_first_not_of("0123456789abcdef") == name.npos;
  }
  /// Locked by the process that collects garbage, repairs, or rebuilds the index.
  std::filesystem::path maintenance_lock() const { return home / "maintenance.lock"; }
  /// Touched when the queue of evaluations has changed.
  std::filesystem::path bell() const { return home / "jobs.bell"; }
  /// Touched when a checkpoint was committed, or a run has ended.
  std::filesystem::path checkpoint_bell() const { return home / "checkpoints.bell"; }
  /// Touched when a recording has written to its journal.
  std::filesystem::path journal_bell() const { return home / "journals.bell"; }
  /// Touched when there is a request to watches.
  std::filesystem::path watcher_bell() const { return home / "watchers.bell"; }
  std::filesystem::path quarantine() const { return home / "quarantine"; }
  std::filesystem::path locks() const { return home / "locks"; }
  std::filesystem::path lock(std::string_view key) const {
    return locks() / (std::string(key) + ".lock");
  }
  /// Locked, shared, by processes that read the run's checkpoints.
  std::filesystem::path use(std::string_view key) const {
    return locks() / (std::string(key) + ".use");
  }
  std::filesystem::path rank_board(std::string_view key) const {
    return locks() / (std::string(key) + ".ranks");
  }
};

}  // namespace flor::store
