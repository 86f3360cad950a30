// Where everything of a store lies: one place that knows the names of its files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flor::store {

struct Paths {
  std::filesystem::path home;

  std::filesystem::path catalog() const { return home / "catalog.db"; }
  /// Takes space until flor gc, keep or fsck --repair needs it to free more.
  std::filesystem::path reserve() const { return home / "reserve"; }
  std::filesystem::path packs() const { return home / "packs"; }
  std::filesystem::path pack(std::string_view name) const {
    return packs() / (std::string(name) + ".pack");
  }
  /// Whether Flor would name a pack so: all others belong to the user.
  static bool is_pack(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    return path.extension() == ".pack" && name.size() == 16 &&
           name.find_first_not_of("0123456789abcdef") == name.npos;
  }
  /// Held by the one process that collects garbage or repairs.
  std::filesystem::path maintenance_lock() const { return home / "maintenance.lock"; }
  /// Touched when the queue of evaluations has changed.
  std::filesystem::path bell() const { return home / "jobs.bell"; }
  /// Touched when a checkpoint was committed, or a run has ended.
  std::filesystem::path checkpoint_bell() const { return home / "checkpoints.bell"; }
  /// Touched when those who watch for checkpoints are asked something.
  std::filesystem::path watcher_bell() const { return home / "watchers.bell"; }
  std::filesystem::path quarantine() const { return home / "quarantine"; }
  std::filesystem::path locks() const { return home / "locks"; }
  std::filesystem::path lock(std::string_view key) const {
    return locks() / (std::string(key) + ".lock");
  }
  /// Held, shared, by those who read the run's checkpoints.
  std::filesystem::path use(std::string_view key) const {
    return locks() / (std::string(key) + ".use");
  }
  std::filesystem::path rank_board(std::string_view key) const {
    return locks() / (std::string(key) + ".ranks");
  }
};

}  // namespace flor::store
