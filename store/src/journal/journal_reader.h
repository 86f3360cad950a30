// Reads the events of journals, from their copies where they are damaged.
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

/// How a journal is called, and one that is sealed (journal/sealing.h), in its place.
inline constexpr const char* kJournalName = "journal";
inline constexpr const char* kSealedName = "sealed";

/// The position of a reader in a journal.
struct JournalPosition {
  std::uint64_t bytes = 0, frames = 0;
};

struct JournalEvent {
  EventKind kind = EventKind::piece;
  std::int64_t at_us = 0;
  /// Events before it, after the one that `next` returned before, are lost.
  bool follows_loss = false;
  /// Belongs to the reader; valid until its next call.
  std::span<const std::byte> payload;
};

/// True for a journal of which a power loss took the beginning before anything in it was durable:
/// it begins with zeros, or ends before its first frame, and has no copy. Such a journal has no
/// events.
bool has_no_beginning(Filesystem& filesystem, const std::filesystem::path& path);

/// Reads a journal from a position up to its present end. Frames that the journal has lost come
/// from its copy. Not thread-safe.
class JournalReader {
 public:
  /// Throws Damaged if this is no journal and has no copy, unless it `has_no_beginning`.
  JournalReader(Filesystem& filesystem, const std::filesystem::path& path, JournalPosition from);

  /// The next event, put together from its pieces. Nothing at the end.
  std::optional<JournalEvent> next();
  /// After the event that `next` returned last.
  JournalPosition position() const { return position_; }
  /// The kind of the event that `next` returned last; `piece` before the first.
  EventKind last_kind() const { return last_kind_; }
  /// A line for each damage that was met so far.
  const std::vector<std::string>& damage() const { return damage_; }
  /// Whether damage cost events that the copy does not have either.
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
      frames_;              ///< nothing: its writer has only begun, or it is not to be read
  std::string why_unread_;  ///< where it is not to be read
  JournalPosition position_;
  EventKind last_kind_ = EventKind::piece;
  std::uint64_t expected_ = 0;       ///< number of the next frame
  std::vector<CopiedFrame> copied_;  ///< they are missing in the journal
  std::size_t used_ = 0;             ///< of them
  std::uint64_t missing_at_ = 0;     ///< where they would be
  std::optional<Frame> held_;        ///< comes after them
  std::uint64_t at_ = 0;             ///< where to go on
  bool may_be_cut_;                  ///< whether its end is missing was not checked yet
  std::uint64_t copied_bytes_ = 0;   ///< of the part read so far, in its copy
  std::uint64_t piece_bytes_ = 0;    ///< of an event whose rest is to come
  std::vector<std::byte> pieces_;
  bool has_pieces_ = false;
  bool lost_ = false;  ///< some before the next event
  bool has_lost_ = false;
  std::vector<std::string> damage_;
};

/// Rewrites a damaged journal with the sound frames of it and of its copy; the damaged one, if
/// there is one, becomes `aside`. Only where no process writes it, and before `write_copy`. Returns
/// the end of the new one.
JournalPosition mend_journal(Filesystem& filesystem, const std::filesystem::path& path,
                             const std::filesystem::path& aside);

}  // namespace flor::store
