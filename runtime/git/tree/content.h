// Puts the content of files of the work tree into the object database, converted as `git add`
// would.
#pragma once

#include "git/library.h"
#include "git/tree/index_file.h"
#include "git/tree/stat_cache.h"

#include <filesystem>
#include <optional>
#include <string>

namespace flor::git {

/// The result of storing a file: its object, or why there is none.
struct StoredContent {
  git_oid id{};
  bool stored = false;
  bool vanished = false;  ///< the file went away meanwhile: not a problem
  bool settled = true;    ///< false: it changed while it was read, so its stat data says nothing
  std::string problem;
  std::string secret = {};  ///< kind of the secret in it: it was not stored
};

class ContentWriter {
 public:
  /// `index` are the tracked files: .gitattributes that are not checked out and files that have
  /// CRLF already are looked up there.
  ContentWriter(git_repository* repository, std::filesystem::path root, const IndexFile& index);

  /// Stores the file or symbolic link of `entry`, which is tracked as `tracked` or not (null);
  /// a `guarded` one only if it holds no secret.
  StoredContent store(const FileEntry& entry, const TrackedEntry* tracked, bool guarded);

 private:
  struct Attributes {
    std::string filter, encoding;
  };
  StoredContent store_link(const std::string& path);
  StoredContent store_file(const FileEntry& entry, const TrackedEntry* tracked, bool guarded);
  StoredContent store_large(int file, std::uint64_t size, const std::string* guarded);
  Attributes attributes(const std::string& path);
  std::string config(const std::string& name);
  /// Runs the driver's command; false with a problem where the file cannot be stored.
  bool clean(const FileEntry& entry, const std::string& driver, int file, std::string& content,
             bool& cleaned, StoredContent& result);
  void know(const TrackedEntry& tracked);

  git_repository* repository_;
  std::filesystem::path root_;
  OdbHandle odb_;
  ConfigHandle config_;
  IndexHandle index_;
};

}  // namespace flor::git
