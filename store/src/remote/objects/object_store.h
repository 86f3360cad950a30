// The place that runs are spooled to: named objects that appear whole and never change, as in S3.
#pragma once

#include <flor/store/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::remote {

struct ObjectInfo {
  std::string key;
  std::uint64_t bytes = 0;
  std::int64_t modified_us = 0;  ///< by the clock of the server, Unix time in microseconds
};

/// The place does not answer, or not now: it may do so later.
class Unreachable : public Error {
 public:
  explicit Unreachable(const std::string& message) : Error(message) {}
};

/// Objects below one prefix, by keys like "runs/0123456789abcdef/00000001.json": letters, digits,
/// '/', '.' and '-'. All functions may be called from several threads at once. They throw NotFound
/// where the key or the whole place does not exist, Damaged where the bytes that arrive are not
/// those that were stored, Unreachable where trying again has not helped but may help later, and
/// Error for everything else.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// "s3://bucket/prefix", for messages.
  virtual const std::string& url() const = 0;

  /// Makes an object, unless one of that key exists: then it returns false and changes nothing. Of
  /// several that do so at once one wins. When it returns the object is durable, whole, and was
  /// compared with a checksum by the server; if it throws, or the process dies, it is there whole
  /// or not at all.
  virtual bool put_if_absent(const std::string& key, std::span<const std::byte> content) = 0;
  /// Whether exactly one of several that make an object at once wins. Some servers replace an
  /// object although they were asked not to; then `put_if_absent` is good for objects that are
  /// named after their content, and for nothing else. May ask the server, once.
  virtual bool makes_exclusively() = 0;
  /// The same, but replaces an object of that key.
  virtual void put(const std::string& key, std::span<const std::byte> content) = 0;
  /// Damaged if it has more than `most` bytes.
  virtual std::vector<std::byte> get(const std::string& key, std::uint64_t most) = 0;
  /// Exactly `size` bytes; Damaged if the object is shorter.
  virtual std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                           std::uint64_t size) = 0;
  virtual std::optional<ObjectInfo> head(const std::string& key) = 0;
  /// All objects whose keys begin with `prefix`, which is empty or ends with '/', ordered by key.
  virtual std::vector<ObjectInfo> list(const std::string& prefix) = 0;
  /// Removes an object; does nothing if there is none.
  virtual void remove(const std::string& key) = 0;
  /// Removes the remains of uncompleted objects that killed writers left, if they are older.
  /// Returns how many there were; `dry_run` only counts them.
  virtual std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) = 0;
};

/// "file:///directory" or "s3://bucket/prefix"; for the latter the usual variables and files name
/// the credentials and the server (docs/internals/protocols.md). Nothing is looked up there or made
/// yet. Throws UsageError for anything else, Error where there are no credentials.
std::unique_ptr<ObjectStore> open_objects(std::string_view url);

/// A directory as an object store: each object is a file, written beside its place, synced, and
/// then linked into it. `directory` is made when the first object is.
std::unique_ptr<ObjectStore> open_directory(const std::string& directory);

}  // namespace flor::remote
