// Finds checkpoints in directories as soon as they are complete: by inotify if the file system
// reports changes, else by polling.
#pragma once

#include "choose/pattern.h"
#include "queue/job_queue.h"
#include "watch/checkpoint_source.h"
#include "watch/evaluators/complete_files.h"

#include <flor/store/digest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// The pattern of names that count as checkpoints, unless --filter gives another.
inline constexpr const char* kDefaultFilter =
    R"(\.(pt|pth|ckpt|safetensors|model|state)$|^(checkpoint|ckpt|step|epoch|global_step)[-_]?[0-9]+$)";

struct DirectoryWatchOptions {
  Pattern filter{"--filter", kDefaultFilter};  ///< searched for in the names of files and
                                               ///< directories
  std::string marker = {};                     ///< name of a file that marks complete directories,
                                               ///< see `examine`
  /// A checkpoint whose content does not tell whether it is complete counts as complete when it has
  /// been unchanged for so long.
  std::chrono::milliseconds settle{2000};
  /// Time between scans: as a fallback for inotify, and on file systems without events.
  std::chrono::milliseconds rescan{60'000}, poll{5000};
  bool only_poll = false;  ///< treat every file system as one without events
};

/// Makes a directory to be watched, with its parents. Returns false if it exists already, or if
/// another process makes it at the same time. Throws NotFound if it cannot be made.
bool make_watched_directory(const std::filesystem::path& path);

/// Whether other machines can write to the file system without inotify events on this one (NFS and
/// the like).
bool has_no_events(const std::filesystem::path& path);

/// Watches directories one level deep. A checkpoint is a file or a directory. Ignored are hidden
/// names, links to something in the same directory, and, with a remark, checkpoints that are or
/// contain a link out of the directory.
class DirectoryWatch final : public CheckpointSource {
 public:
  /// Begins to watch at once, so that a later scan misses nothing. `directories`: absolute paths;
  /// they may appear later, vanish and come back.
  DirectoryWatch(std::vector<std::filesystem::path> directories,
                 const DirectoryWatchOptions& options);
  ~DirectoryWatch() override;
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  std::vector<std::string> places() const override;
  /// Everything in the directory that has the name of a checkpoint, complete or not.
  std::vector<Known> present(std::size_t directory) const override;
  std::optional<store::FileIdentity> identify_at(const std::string& path) const override {
    return identify(path);
  }
  void know(std::size_t directory, const std::string& path,
            const store::FileIdentity& file) override;

  int descriptor() const override { return inotify_; }
  Clock::time_point due() const override;
  /// Hands checkpoints over in the order of their completion, as far as events tell, or without
  /// events the times of files. Numbers in names decide between equal times.
  void step(const std::function<void(FoundCheckpoint)>& hand_over) override;

  /// The number of incomplete checkpoints that may become complete, as they are being written or
  /// were changed recently.
  std::size_t expected() const override;
  std::vector<std::string> incomplete() const override;
  /// Remarks on directories that vanished or came back, and on checkpoints that will not become
  /// complete.
  std::vector<std::string> remarks() override;

 private:
  struct Directory {
    std::filesystem::path path;
    int watch = -1;
    bool polled = false;  ///< whether its file system has no events
    bool missing = false;
    Clock::time_point next_scan;
    std::unordered_map<std::string, store::FileIdentity> known;
  };
  struct Candidate {
    std::size_t directory = 0;
    std::uint64_t order = 0;  // number of its latest event
    store::FileIdentity file;
    Clock::time_point unchanged_since, next_look;
    std::chrono::milliseconds pause{0};
    bool is_new = true;  // whether `file` is not in `known`
    bool published = false, stalled = false;
  };
  using Candidates = std::map<std::string, Candidate>;

  void attach(Directory& directory);
  void detach(Directory& directory);
  void read_events();
  void handle(int watch, std::uint32_t mask, const std::string& name);
  void scan(std::size_t index);
  void notice(std::size_t index, const std::string& path, bool published);
  void note_change(Candidate& candidate, const store::FileIdentity& file);
  void note_stall(const std::string& path, Candidate& candidate, bool stalled);
  std::vector<std::string> due_candidates() const;
  bool is_checkpoint(const std::filesystem::path& path) const;
  /// Returns the checkpoint if it is complete, else nullopt.
  std::optional<FoundCheckpoint> look(const std::string& path, Candidate& candidate);
  void watch_below(const std::filesystem::path& path);
  void forget_below(const std::string& path);
  void forget(Candidates::iterator candidate);

  DirectoryWatchOptions options_;
  int inotify_ = -1;
  std::vector<Directory> directories_;
  Candidates candidates_;             // by path
  std::map<int, std::string> below_;  // inotify watches inside of candidates: path of the candidate
  std::uint64_t events_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace flor::cli
