// Appends records to packs that this process alone writes.
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
  bool is_locked = false;       ///< others can see that it is being written
  std::uint64_t bytes = 0;      ///< appended
  std::uint64_t committed = 0;  ///< of these, referred to
};

/// Where a record lies.
struct RecordPlace {
  std::shared_ptr<OpenPack> pack;
  std::uint64_t offset = 0;
};

/// Between two calls of `committed`, `roll_back` or `abandon`, everything appended belongs to one
/// commit. Not thread-safe.
class PackWriter {
 public:
  PackWriter(Paths paths, Filesystem& filesystem, PackOrigin origin);
  ~PackWriter();

  RecordPlace append(const RecordHeader& header, std::span<const std::byte> payload);
  /// Makes everything appended durable.
  void sync();
  /// The packs that were appended to.
  const std::vector<std::shared_ptr<OpenPack>>& touched() const { return touched_; }
  /// These, and those that were present at some moment since the last commit.
  std::vector<std::shared_ptr<OpenPack>> in_use() const;
  /// Where in `touched()` the record's pack is.
  std::size_t number_of(const RecordPlace& place) const;
  /// Bytes appended.
  std::uint64_t appended() const { return appended_; }
  /// Bytes of memory that it holds.
  std::uint64_t memory() const { return buffer_.capacity(); }
  static std::uint64_t memory_max();

  /// The catalog, or a journal, refers to the appended records.
  void committed();
  /// It does not. The file is left alone from now on, since its state after a disk failure is
  /// unknown. `may_be_referred_to`: the commit itself failed, and a crash now could still make it
  /// effective, so the bytes stay until the next commit; otherwise their space is freed.
  void roll_back(bool may_be_referred_to) noexcept;
  /// The commit was taken back, but others may have seen it before: the bytes stay for `flor gc`.
  void abandon() noexcept;

  /// The pack that is written now: no garbage collection takes records from it, nor from one that
  /// this commit has filled. Nothing if others cannot see that it is written.
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
  std::vector<std::byte> buffer_;  ///< the end of pack_ that is not in the file yet
  std::vector<std::shared_ptr<OpenPack>> touched_;
  std::vector<std::shared_ptr<OpenPack>> filled_;  ///< during this commit
  /// Packs to which a failed commit refers. Of no use once another commit has taken its place.
  std::vector<std::shared_ptr<OpenPack>> doubtful_;
  std::uint64_t appended_ = 0;
};

}  // namespace flor::store
