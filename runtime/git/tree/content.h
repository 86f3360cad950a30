// Stores the content of files of the work tree in git's object database, converted as by `git add`.
#pragma once

#include "git/library.h"
#include "git/tree/index_file.h"
#include "git/tree/stat_cache.h"

#include <filesystem>
#include <optional>
#include <string>

namespace flor::git {

/// The result of storing a file: its object, or why it was not stored.
struct StoredContent {
  git_oid id{};
  bool stored = false;
  bool vanished = false;  ///< the file was removed meanwhile, which is no error
  /// False if the file changed while it was read, so that its stat data cannot be relied on.
  bool settled = true;
  std::string problem;
  std::string secret = {};  ///< kind of secret found in it; it was then not stored
};

class ContentWriter {
 public:
  /// `index` has the tracked files. It is needed for .gitattributes that are not checked out, and
  /// to know which files already contain CRLF.
  ContentWriter(git_repository* repository, std::filesystem::path root, const IndexFile& index);

  /// Stores the file or symbolic link of `entry`. `tracked` is its entry in the index, or null. A
  /// `guarded` file is stored only if it holds no secret.
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
  /// Runs the clean command of the filter `driver`. Returns false, with `result.problem`, if the
  /// file cannot be stored.
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
