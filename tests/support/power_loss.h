// Simulates what a disk may hold after a power loss: of the recorded changes (disk.h) those that
// were synced, and of the others all, none, some, or parts.
#pragma once

#include "support/disk.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

/// Which of the changes that were not synced survive.
enum class Survival {
  nothing,
  everything,
  some,     ///< some of the writes, each as a whole
  sectors,  ///< some of the 512-byte sectors of the writes
  pages,    ///< some of the 4096-byte pages of the writes
};
inline constexpr Survival kSurvivals[] = {Survival::nothing, Survival::everything, Survival::some,
                                          Survival::sectors, Survival::pages};

/// Plays a recording event by event. `leave` can be called at any time.
class PowerLoss {
 public:
  explicit PowerLoss(std::filesystem::path recorded_root) : root_(std::move(recorded_root)) {}

  void play(const DiskEvent& event) {
    using Kind = DiskEvent::Kind;
    switch (event.kind) {
      case Kind::write:
      case Kind::resize:
        if (event.file >= 0) files_[event.file].pending.push_back(&event);
        return;
      case Kind::sync:
        files_[event.file].settle();
        return;
      case Kind::sync_directory:
        for (const DiskEvent* change : directories_[event.path]) apply(names_, *change);
        directories_[event.path].clear();
        return;
      case Kind::create:
        // A file that was never written to exists, too.
        files_[event.file];
        [[fallthrough]];
      case Kind::remove:
      case Kind::rename:
      case Kind::make_directory:
        directories_[event.path.parent_path()].push_back(&event);
        return;
      case Kind::mark:
        return;
    }
  }

  /// Writes what the disk would hold after a power loss into the empty directory `to`.
  template <typename Random>
  void leave(Survival survival, Random& random, const std::filesystem::path& to) const {
    Names names = names_;
    for (const auto& [directory, changes] : directories_) {
      // A journaling file system keeps the order of changes, another one need not.
      const bool ordered = random() % 2 == 0;
      std::size_t kept = random() % (changes.size() + 1);
      if (survival == Survival::nothing) kept = 0;
      if (survival == Survival::everything) kept = changes.size();
      for (std::size_t i = 0; i < changes.size(); ++i) {
        const bool any = survival != Survival::nothing && survival != Survival::everything;
        if (any && !ordered ? random() % 2 == 0 : i < kept) apply(names, *changes[i]);
      }
    }
    write_out(names, survival, random, to);
  }

 private:
  static constexpr int kDirectory = -1;
  using Names = std::map<std::filesystem::path, int>;

  struct FileState {
    std::string durable;
    std::vector<const DiskEvent*> pending;

    void settle() {
      for (const DiskEvent* event : pending) put(durable, *event, 0, event->bytes.size());
      pending.clear();
    }
  };

  static void put(std::string& content, const DiskEvent& event, std::size_t from, std::size_t to) {
    if (event.kind == DiskEvent::Kind::resize) {
      content.resize(event.offset);
    } else {
      if (content.size() < event.offset + to) content.resize(event.offset + to);
      content.replace(event.offset + from, to - from, event.bytes, from, to - from);
    }
  }

  static void apply(Names& names, const DiskEvent& event) {
    using Kind = DiskEvent::Kind;
    if (event.kind == Kind::create) names[event.path] = event.file;
    if (event.kind == Kind::make_directory) names[event.path] = kDirectory;
    if (event.kind == Kind::remove) names.erase(event.path);
    if (event.kind == Kind::rename && names.contains(event.path)) {
      names[event.target] = names.at(event.path);
      names.erase(event.path);
    }
  }

  template <typename Random>
  static std::string content(const FileState& file, Survival survival, Random& random) {
    std::string content = file.durable;
    for (const DiskEvent* event : file.pending) {
      const std::size_t size = event->bytes.size();
      if (survival == Survival::nothing) continue;
      const bool whole = survival == Survival::everything || survival == Survival::some ||
                         event->kind == DiskEvent::Kind::resize;
      if (whole) {
        if (survival == Survival::everything || random() % 2 == 0) put(content, *event, 0, size);
        continue;
      }
      put_pieces(content, *event, survival == Survival::sectors ? 512 : 4096, random);
    }
    return content;
  }

  /// Writes some units of an event. Units are aligned in the file, not in the write.
  template <typename Random>
  static void put_pieces(std::string& content, const DiskEvent& event, std::size_t unit,
                         Random& random) {
    const std::size_t size = event.bytes.size();
    // The file's new length may have become durable before its content.
    if (random() % 2 == 0 && content.size() < event.offset + size) {
      content.resize(event.offset + size);
    }
    for (std::size_t from = 0; from < size;) {
      const std::size_t to = std::min(size, from + unit - (event.offset + from) % unit);
      if (random() % 2 == 0) put(content, event, from, to);
      from = to;
    }
  }

  template <typename Random>
  void write_out(const Names& names, Survival survival, Random& random,
                 const std::filesystem::path& to) const {
    // In the order of names, so that a directory comes before its content.
    for (const auto& [name, file] : names) {
      const auto path = to / name.lexically_relative(root_);
      if (!std::filesystem::is_directory(path.parent_path())) continue;
      if (file == kDirectory) {
        std::filesystem::create_directory(path);
        continue;
      }
      const std::string bytes = content(files_.at(file), survival, random);
      std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    }
  }

  std::filesystem::path root_;
  std::map<int, FileState> files_;
  Names names_;  ///< the durable names
  /// For each directory, the changes of its names since its last sync.
  std::map<std::filesystem::path, std::vector<const DiskEvent*>> directories_;
};

}  // namespace flor::testing
