// Where runs are spooled to: a store of named objects, such as S3, in which an object appears
// complete or not at all and is never modified.
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

/// The object store does not answer, or cannot serve requests at the moment; it may later.
class Unreachable : public Error {
 public:
  explicit Unreachable(const std::string& message) : Error(message) {}
};

/// Objects below one prefix. Keys look like "runs/0123456789abcdef/00000001.json": letters, digits,
/// '/', '.' and '-'. All functions are thread-safe. They throw NotFound if the key or the whole
/// store does not exist, Damaged if received bytes differ from the stored ones, Unreachable if
/// retries have failed but a later attempt may succeed, and Error for everything else.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// "s3://bucket/prefix"; for messages.
  virtual const std::string& url() const = 0;

  /// Creates an object. If one with this key exists, changes nothing and returns false; if several
  /// callers do so at once, exactly one succeeds. When it returns, the object is durable and
  /// complete, and the server has verified its checksum. If it throws or the process dies, the
  /// object exists completely or not at all.
  virtual bool put_if_absent(const std::string& key, std::span<const std::byte> content) = 0;
  /// Returns whether `put_if_absent` is exclusive, so that one of several concurrent calls wins.
  /// Some servers replace an existing object although they were asked not to. On those,
  /// `put_if_absent` may be used only for objects that are named after their content. May send one
  /// request to find out.
  virtual bool makes_exclusively() = 0;
  /// Creates an object, or replaces the one with this key.
  virtual void put(const std::string& key, std::span<const std::byte> content) = 0;
  /// Returns the object. Throws Damaged if it has more than `most` bytes.
  virtual std::vector<std::byte> get(const std::string& key, std::uint64_t most) = 0;
  /// Returns exactly `size` bytes. Throws Damaged if the object is shorter.
  virtual std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                           std::uint64_t size) = 0;
  virtual std::optional<ObjectInfo> head(const std::string& key) = 0;
  /// Returns all objects whose keys begin with `prefix`, which is empty or ends with '/', by key.
  virtual std::vector<ObjectInfo> list(const std::string& prefix) = 0;
  /// Removes an object; does nothing if there is none.
  virtual void remove(const std::string& key) = 0;
  /// Removes what killed writers have left of uncompleted objects older than `before_us` (Unix time
  /// in microseconds). Returns their number; `dry_run` only counts them.
  virtual std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) = 0;
};

/// Opens "file:///directory" or "s3://bucket/prefix". For S3, the usual environment variables and
/// files give the credentials and the server (docs/internals/protocols.md). Does not access or
/// create anything yet. Throws UsageError for any other URL, Error if there are no credentials.
std::unique_ptr<ObjectStore> open_objects(std::string_view url);

/// Opens a directory as an object store. Each object is a file that is written under a temporary
/// name, synced, and then linked to its name. The directory is created with the first object.
std::unique_ptr<ObjectStore> open_directory(const std::string& directory);

}  // namespace flor::remote
