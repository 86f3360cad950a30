// Reads the events of a journal; where it is damaged, reads them from its copy.
#pragma once

#include "file/filesystem.h"
#include "file/frames.h"
#include "journal/events.h"
#include "journal/journal_copy.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

/// File name of a journal, and of the sealed one (journal/sealing.h) that replaces it.
inline constexpr const char* kJournalName = "journal";
inline constexpr const char* kSealedName = "sealed";

/// The position of a reader in a journal.
struct JournalPosition {
  std::uint64_t bytes = 0, frames = 0;
};

struct JournalEvent {
  EventKind kind = EventKind::piece;
  std::int64_t at_us = 0;
  /// True if events were lost between this one and the previously returned one.
  bool follows_loss = false;
  /// Owned by the reader; valid until its next call.
  std::span<const std::byte> payload;
};

/// True if a power loss destroyed the beginning of the journal before anything was durable: it
/// begins with zeros or ends before its first frame, and has no copy. Such a journal has no events.
bool has_no_beginning(Filesystem& filesystem, const std::filesystem::path& path);

/// Reads a journal from a position to its current end. Frames that are missing in the journal are
/// taken from its copy. Not thread-safe.
class JournalReader {
 public:
  /// Throws Damaged if this is not a journal and has no copy, unless it `has_no_beginning`.
  JournalReader(Filesystem& filesystem, const std::filesystem::path& path, JournalPosition from);

  /// Returns the next event, assembled from its pieces; nullopt at the end.
  std::optional<JournalEvent> next();
  /// Returns the position after the event that `next` returned last.
  JournalPosition position() const { return position_; }
  /// Returns the kind of the event that `next` returned last; `piece` before the first.
  EventKind last_kind() const { return last_kind_; }
  /// One line for each damage found so far.
  const std::vector<std::string>& damage() const { return damage_; }
  /// True if events were lost that the copy does not have either.
  bool has_lost_events() const { return has_lost_; }

 private:
  void open();
  std::optional<Frame> next_frame();
  std::optional<Frame> next_of_journal();
  std::optional<Frame> next_of_copy();
  void find_cut_end();
  void tell(const FrameDamage& one);

  Filesystem& filesystem_;
  std::filesystem::path path_;
  std::optional<File> file_;
  std::optional<FrameReader>
      frames_;              ///< nullopt if the writer has only begun, or if the journal is
                            ///< unreadable
  std::string why_unread_;  ///< why the journal is unreadable
  JournalPosition position_;
  EventKind last_kind_ = EventKind::piece;
  std::uint64_t expected_ = 0;       ///< number of the next frame
  std::vector<CopiedFrame> copied_;  ///< frames missing in the journal
  std::size_t used_ = 0;             ///< how many of `copied_` have been returned
  std::uint64_t missing_at_ = 0;     ///< offset where the missing frames would be
  std::optional<Frame> held_;        ///< the frame of the journal after the missing ones
  std::uint64_t at_ = 0;             ///< offset where reading continues
  bool may_be_cut_;                  ///< true until it was checked whether the end of the journal
                                     ///< is missing
  std::uint64_t copied_bytes_ = 0;   ///< length, in the copy, of the frames read so far
  std::uint64_t piece_bytes_ = 0;    ///< length of the pieces of an incomplete event
  std::vector<std::byte> pieces_;
  bool has_pieces_ = false;
  bool lost_ = false;  ///< events were lost before the next one
  bool has_lost_ = false;
  std::vector<std::string> damage_;
};

/// Replaces a damaged journal by the sound frames of it and of its copy. The damaged file, if there
/// is one, is renamed to `aside`. Call it before `write_copy`, and only while no process writes the
/// journal. Returns the end of the new journal.
JournalPosition mend_journal(Filesystem& filesystem, const std::filesystem::path& path,
                             const std::filesystem::path& aside);

}  // namespace flor::store
