// Finds checkpoints in directories as soon as they are complete: by inotify where the file system
// reports changes, by polling where it does not.
#pragma once

#include "choose/pattern.h"
#include "queue/jobs.h"
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

/// Names that count as checkpoints without --filter.
inline constexpr const char* kDefaultFilter =
    R"(\.(pt|pth|ckpt|safetensors|model|state)$|^(checkpoint|ckpt|step|epoch|global_step)[-_]?[0-9]+$)";

struct DirectoryWatchOptions {
  Pattern filter{"--filter", kDefaultFilter};  ///< searched for in names
  std::string marker = {};                     ///< of complete directories, see `examine`
  std::chrono::milliseconds settle{2000};
  /// Time between scans: as a fallback where there are events, and where there are none.
  std::chrono::milliseconds rescan{60'000}, poll{5000};
  bool only_poll = false;  ///< as if no file system had events
};

/// Makes a directory to watch, with those above it. False if it exists already, even if another
/// process makes it at the same time. Throws NotFound if it cannot be made.
bool make_watched_directory(const std::filesystem::path& path);

/// Whether other machines can write to the file system without events here.
bool has_no_events(const std::filesystem::path& path);

/// Looks one level deep. A checkpoint is a file or a directory. Left out are hidden names, links to
/// something in the same directory, and, with a remark, checkpoints that are or hold a link out of
/// the directory.
class DirectoryWatch final : public CheckpointSource {
 public:
  /// Watches from now on, so a scan that follows misses nothing. `directories`: absolute; they may
  /// appear later, vanish and come back.
  DirectoryWatch(std::vector<std::filesystem::path> directories,
                 const DirectoryWatchOptions& options);
  ~DirectoryWatch() override;
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  std::vector<std::string> places() const override;
  /// Everything there whose name is a checkpoint's, complete or not.
  std::vector<Known> present(std::size_t directory) const override;
  std::optional<store::FileIdentity> identify_at(const std::string& path) const override {
    return identify(path);
  }
  void know(std::size_t directory, const std::string& path,
            const store::FileIdentity& file) override;

  int descriptor() const override { return inotify_; }
  Clock::time_point due() const override;
  /// In order of completion, as far as events or, without them, the times of files tell. Numbers in
  /// names decide between equal times.
  void step(const std::function<void(Found)>& hand_over) override;

  /// Incomplete ones that may still become complete: being written, or changed lately.
  std::size_t expected() const override;
  std::vector<std::string> incomplete() const override;
  /// Directories that vanished or came back; checkpoints that will not become complete.
  std::vector<std::string> remarks() override;

 private:
  struct Directory {
    std::filesystem::path path;
    int watch = -1;
    bool polled = false;  ///< lies on a file system without events
    bool missing = false;
    Clock::time_point next_scan;
    std::unordered_map<std::string, store::FileIdentity> known;
  };
  struct Candidate {
    std::size_t directory = 0;
    std::uint64_t order = 0;  // of the latest event
    store::FileIdentity file;
    Clock::time_point unchanged_since, next_look;
    std::chrono::milliseconds pause{0};
    bool is_new = true;  // `file` is not known yet
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
  /// Nothing while the checkpoint is not complete.
  std::optional<Found> look(const std::string& path, Candidate& candidate);
  void watch_below(const std::filesystem::path& path);
  void forget_below(const std::string& path);
  void forget(Candidates::iterator candidate);

  DirectoryWatchOptions options_;
  int inotify_ = -1;
  std::vector<Directory> directories_;
  Candidates candidates_;             // by path
  std::map<int, std::string> below_;  // watches inside of candidates: path of the candidate
  std::uint64_t events_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace flor::cli
