// Wrappers around libgit2 for this folder: initialization on first use, handles that free what they
// hold, and error codes turned into flor::Error.
#pragma once

#include "base/text.h"

#include <git2.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace flor::git {

/// Keeps libgit2 initialized while it exists. libgit2 counts its users, so a host program that uses
/// it too is not disturbed.
class Library {
 public:
  Library() { git_libgit2_init(); }
  ~Library() { git_libgit2_shutdown(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

template <auto free_function>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    free_function(handle);
  }
};
template <typename T, auto free_function>
using Handle = std::unique_ptr<T, HandleDeleter<free_function>>;

using RepositoryHandle = Handle<git_repository, git_repository_free>;
using OdbHandle = Handle<git_odb, git_odb_free>;
using CommitHandle = Handle<git_commit, git_commit_free>;
using TreeHandle = Handle<git_tree, git_tree_free>;
using TreeEntryHandle = Handle<git_tree_entry, git_tree_entry_free>;
using BlobHandle = Handle<git_blob, git_blob_free>;
using IndexHandle = Handle<git_index, git_index_free>;
using ReferenceHandle = Handle<git_reference, git_reference_free>;
using TransactionHandle = Handle<git_transaction, git_transaction_free>;
using SignatureHandle = Handle<git_signature, git_signature_free>;
using ConfigHandle = Handle<git_config, git_config_free>;
using DiffHandle = Handle<git_diff, git_diff_free>;
using PatchHandle = Handle<git_patch, git_patch_free>;
using FilterListHandle = Handle<git_filter_list, git_filter_list_free>;
using StatusListHandle = Handle<git_status_list, git_status_list_free>;

/// A buffer that libgit2 fills.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { git_buf_dispose(&buffer_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  git_buf* get() { return &buffer_; }
  std::string_view view() const {
    return buffer_.ptr ? std::string_view(buffer_.ptr, buffer_.size) : std::string_view{};
  }

 private:
  git_buf buffer_ = GIT_BUF_INIT;
};

/// The last error of libgit2 on this thread, in one line.
std::string last_error();

/// Throws flor::Error with "<doing>: <error of libgit2>" if `code` is negative.
void check(int code, std::string_view doing);

/// Like git_repository_open_ext, but returns GIT_EOWNER whenever the owner of the directory is the
/// obstacle. libgit2 itself returns "not found" if the configuration has no safe.directory at all.
int open_repository(git_repository** out, const char* directory, unsigned flags);

std::string to_hex(const git_oid& id);

inline bool operator==(const git_oid& a, const git_oid& b) {
  return std::memcmp(a.id, b.id, sizeof a.id) == 0;
}
inline bool operator<(const git_oid& a, const git_oid& b) {
  return std::memcmp(a.id, b.id, sizeof a.id) < 0;
}

using store::printable;

}  // namespace flor::git
