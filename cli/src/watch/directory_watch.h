// Finds checkpoints in directories as soon as they are complete: by inotify where the file system
// tells of changes, by looking at intervals where it does not.
#pragma once

#include "watch/complete.h"

#include <flor/store/digest.h>
#include <flor/store/jobs.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// Names that are taken for checkpoints unless --filter says otherwise.
inline constexpr const char* kDefaultFilter =
    R"(\.(pt|pth|ckpt|safetensors|model|state)$|^(checkpoint|ckpt|step|epoch|global_step)[-_]?[0-9]+$)";

/// A regular expression of ECMAScript, to be searched for in names. Throws UsageError.
std::regex compile_filter(const std::string& filter);

struct DirectoryWatchOptions {
  std::regex filter = compile_filter(kDefaultFilter);
  std::string marker = {};  ///< of complete directories, see `examine`
  std::chrono::milliseconds settle{2000};
  /// How often everything is looked at: as a net where there are events, and where there are none.
  std::chrono::milliseconds rescan{60'000}, poll{5000};
  bool only_poll = false;  ///< as if no file system had events
};

/// A complete checkpoint that is new, or has another content.
struct Found {
  std::size_t directory = 0;  ///< index
  std::string path;
  store::FileIdentity file;
  store::Digest content;
};

/// Looks one level deep; hidden names, and links to something in the same directory, are left out.
/// A checkpoint is a file or a directory. Not thread-safe.
class DirectoryWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Watches from now on; so a scan that follows misses nothing. `directories`: absolute; they
  /// may come later, and come and go.
  DirectoryWatch(std::vector<std::filesystem::path> directories,
                 const DirectoryWatchOptions& options);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// Everything there whose name is a checkpoint's, complete or not.
  std::vector<std::pair<std::string, store::FileIdentity>> present(std::size_t directory) const;
  /// It need not be found, as long as it is this.
  void know(std::size_t directory, const std::string& path, const store::FileIdentity& file);

  /// Readable when there is something to do; so is it at `due`.
  int descriptor() const { return inotify_; }
  Clock::time_point due() const;
  /// Does what is to be done, and hands over what is found as soon as it is: what was completed
  /// first comes first, as far as events or, without them, the times of files tell that. Numbers in
  /// names decide between equal times.
  void step(const std::function<void(Found)>& hand_over);

  /// Incomplete ones that may still become complete: somebody writes them, or they changed lately.
  std::size_t expected() const;
  /// All incomplete ones.
  std::vector<std::string> incomplete() const;
  /// What people should know since the last call: directories that went, and came back; what will
  /// not become complete.
  std::vector<std::string> remarks();

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
  /// Nothing while it is not complete.
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
