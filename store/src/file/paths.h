// The places of a store's files: only this file knows their names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

struct Paths {
  std::filesystem::path home;
  static constexpr const char* kIndex = "catalog.db";
  /// Relative to the home, or the absolute path of an index that lies elsewhere.
  std::string index = kIndex;
  /// True if every machine has an index of its own (file/shared_home.h).
  bool shared = false;

  std::filesystem::path catalog() const { return home / index; }
  /// An index that is being made.
  static constexpr const char* kNewIndex = "catalog.new";
  /// The same paths, but with that index, beside the present one.
  Paths with_new_index() const {
    Paths made = *this;
    made.index = (std::filesystem::path(index).parent_path() / kNewIndex).string();
    return made;
  }
  /// Exists if every machine has an index of its own.
  std::filesystem::path indexes() const { return home / "indexes"; }
  /// Waiting evaluations, and checkpoints that watches have seen.
  std::filesystem::path queue() const { return home / "queue.db"; }
  /// A queue that is being made.
  std::filesystem::path new_queue() const { return home / "queue.new"; }
  /// Reserves space until flor gc, keep or fsck --repair needs it to free more.
  std::filesystem::path reserve() const { return home / "reserve"; }
  std::filesystem::path packs() const { return home / "packs"; }
  /// Packs lie in directories by the first digits of their names: a few thousand in each, of a
  /// million.
  std::filesystem::path pack(std::string_view name) const {
    return packs() / std::string(name.substr(0, 2)) / (std::string(name) + ".pack");
  }
  /// Journals of the processes that recorded, replayed or changed a run.
  std::filesystem::path runs() const { return home / "runs"; }
  std::filesystem::path run(std::string_view key) const {
    return runs() / std::string(key.substr(0, 2)) / std::string(key);
  }
  /// Results of evaluations: a log for each process that evaluated.
  std::filesystem::path evaluations() const { return home / "evaluations"; }
  /// Empty files named by runs' keys: such a run has a new writer that the index may not know yet.
  std::filesystem::path announced() const { return runs() / "new"; }
  /// True for the name of a pack: files with other names belong to the user.
  static bool is_pack(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    return path.extension() == ".pack" && name.size() == 16 &&
           name.find_first_not_of("0123456789abcdef") == name.npos;
  }
  /// Held by the one process that collects garbage, repairs, or rebuilds the index.
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
  /// Held, shared, by processes that read the run's checkpoints.
  std::filesystem::path use(std::string_view key) const {
    return locks() / (std::string(key) + ".use");
  }
  std::filesystem::path rank_board(std::string_view key) const {
    return locks() / (std::string(key) + ".ranks");
  }
};

}  // namespace flor::store
