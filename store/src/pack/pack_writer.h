// Appends records to packs. Each pack is written by one process alone.
#pragma once

#include "file/filesystem.h"
#include "file/paths.h"
#include "pack/pack_record.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// A pack that is being written.
struct OpenPack {
  OpenPack(Filesystem& filesystem, const Paths& paths, std::uint64_t pack_key);

  std::uint64_t key;
  std::string name;  ///< of the file, without ".pack"
  File file;
  bool is_locked = false;       ///< true if the pack is locked, so that other processes see that it
                                ///< is being written
  std::uint64_t bytes = 0;      ///< number of bytes appended
  std::uint64_t committed = 0;  ///< number of bytes up to the end of the committed records
};

/// The place of a record.
struct RecordPlace {
  std::shared_ptr<OpenPack> pack;
  std::uint64_t offset = 0;
};

/// Writes packs. Everything appended between two calls of `committed`, `roll_back` or `abandon`
/// belongs to one commit. Not thread-safe.
class PackWriter {
 public:
  PackWriter(Paths paths, Filesystem& filesystem, PackOrigin origin);
  ~PackWriter();

  RecordPlace append(const RecordHeader& header, std::span<const std::byte> payload);
  /// Makes all appended records durable.
  void sync();
  /// The packs that this commit has appended to.
  const std::vector<std::shared_ptr<OpenPack>>& touched() const { return touched_; }
  /// Returns `touched`, and packs that were the current one at some time since the last commit.
  std::vector<std::shared_ptr<OpenPack>> in_use() const;
  /// Returns the index of the record's pack in `touched()`.
  std::size_t number_of(const RecordPlace& place) const;
  /// Number of bytes appended by this commit.
  std::uint64_t appended() const { return appended_; }
  /// Returns the bytes of allocated memory.
  std::uint64_t memory() const { return buffer_.capacity(); }
  static std::uint64_t memory_max();

  /// Call it when the catalog or a journal refers to the appended records.
  void committed();
  /// Call it when the commit has failed. The file is not written again, because its state after a
  /// disk failure is unknown. `may_be_referred_to`: a crash now could still make the commit
  /// effective, so the bytes stay until the next commit; otherwise their space is freed.
  void roll_back(bool may_be_referred_to) noexcept;
  /// Call it when the commit was undone but others may have seen it: the bytes stay until `flor
  /// gc`.
  void abandon() noexcept;

  /// Returns the current pack. Garbage collection takes no records from it, nor from packs that
  /// this commit has filled. Returns null if the pack could not be locked, so that others do not
  /// see that it is being written.
  const OpenPack* present() const { return pack_ && pack_->is_locked ? pack_.get() : nullptr; }

 private:
  void open_next();
  void forget() noexcept;
  void discard(OpenPack& pack) noexcept;
  void gather(std::span<const std::byte> bytes);
  void flush();

  Paths paths_;
  Filesystem& filesystem_;
  PackOrigin origin_;
  std::shared_ptr<OpenPack> pack_;
  std::vector<std::byte> buffer_;  ///< the end of the current pack that is not in the file yet
  std::vector<std::shared_ptr<OpenPack>> touched_;
  std::vector<std::shared_ptr<OpenPack>> filled_;  ///< packs that reached their full size during
                                                   ///< this commit
  /// Packs to which a failed commit may still refer, until the next commit.
  std::vector<std::shared_ptr<OpenPack>> doubtful_;
  std::uint64_t appended_ = 0;
};

}  // namespace flor::store
