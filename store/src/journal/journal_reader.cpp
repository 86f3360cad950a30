#include "journal/journal_reader.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

/// Values of a replay are valid only together with the event `parts` that follows them. If one of
/// them is lost, this class drops the others and the part.
class WholeParts {
 public:
  template <typename Write>
  void add(const JournalEvent& event, const Write& write) {
    is_whole_ = is_whole_ && !event.follows_loss;
    if (event.kind == EventKind::found) {
      found_.emplace_back(event.payload.begin(), event.payload.end());
      return;
    }
    if (event.kind == EventKind::parts) {
      const std::vector<std::vector<std::byte>> found = std::exchange(found_, {});
      if (!std::exchange(is_whole_, true)) return;
      for (const auto& values : found) write(EventKind::found, values);
    }
    write(event.kind, event.payload);
  }

 private:
  std::vector<std::vector<std::byte>> found_;
  bool is_whole_ = true;
};

}  // namespace

bool has_no_beginning(Filesystem& filesystem, const fs::path& path) {
  try {
    const File file(filesystem, path, O_RDONLY);
    if (file.size() > kFileHeaderBytes) {
      std::array<std::byte, kFileHeaderBytes> begin{};
      file.read_at(begin, 0);
      if (std::ranges::any_of(begin, [](std::byte one) { return one != std::byte{0}; })) {
        return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  return copied_frames(filesystem, path, std::nullopt, 0, kNoEnd).empty();
}

JournalReader::JournalReader(Filesystem& filesystem, const fs::path& path, JournalPosition from)
    : filesystem_(filesystem),
      path_(path),
      position_(from),
      expected_(from.frames),
      may_be_cut_(from.bytes == 0) {
  try {
    open();
  } catch (const NewerFormat&) {
    throw;
  } catch (const Error& error) {
    // The journal is gone or does not begin like one. If it is only unreadable at the moment, it is
    // read again later.
    std::error_code code;
    const bool is_gone = !fs::exists(path, code) && !code;
    const bool is_none = dynamic_cast<const Damaged*>(&error);
    if ((!is_gone && !is_none) ||
        copied_frames(filesystem_, path_, std::nullopt, 0, kNoEnd).empty()) {
      if (is_none && from.bytes == 0 && has_no_beginning(filesystem_, path_)) return;
      throw;
    }
    why_unread_ = is_gone ? fmt::format("{} is gone", path_.string()) : error.what();
    may_be_cut_ = true;
  }
  if (frames_ && from.bytes != 0) frames_->go_on_at(from.bytes, from.frames);
}

void JournalReader::open() {
  if (!file_) file_.emplace(filesystem_, path_, O_RDONLY);
  if (file_->size() >= kFileHeaderBytes) frames_.emplace(*file_);
}

void JournalReader::tell(const FrameDamage& one) {
  const std::string path = path_.string();
  if (one.undone) {
    damage_.push_back(fmt::format("{}: a flipped bit of frame {} was undone", path, one.first));
    return;
  }
  std::uint64_t lost = one.lost;
  if (lost > 0) {
    copied_ = copied_frames(filesystem_, path_, frames_->id(), one.first, one.first + one.lost);
    used_ = 0;
    missing_at_ = one.offset;
    lost -= copied_.size();
  }
  damage_.push_back(
      copied_.empty()
          ? fmt::format("{}: {} bytes at {} are damaged, which cost {} of its frames", path,
                        one.bytes, one.offset, lost)
          : fmt::format("{}: {} bytes at {} are damaged, which cost {} of its frames, and {} more "
                        "but for its copy",
                        path, one.bytes, one.offset, lost, copied_.size()));
}

/// Checks whether the end of the journal is missing, by its copy, which never has more than the
/// journal had.
void JournalReader::find_cut_end() {
  may_be_cut_ = false;
  std::error_code error;
  const auto bytes = fs::file_size(copy_path(path_), error);
  if (error || bytes <= kFileHeaderBytes + copied_bytes_) return;
  std::optional<std::uint64_t> id;
  if (frames_) id = frames_->id();
  copied_ = copied_frames(filesystem_, path_, id, expected_, kNoEnd);
  used_ = 0;
  missing_at_ = frames_ ? frames_->position() : file_ ? file_->size() : 0;
  if (copied_.empty()) return;
  // The writer may have written more to the journal meanwhile.
  if (why_unread_.empty()) {
    if (!frames_) open();
    if (frames_) held_ = frames_->next();
  }
  if (held_) {
    copied_.clear();
    may_be_cut_ = true;
    return;
  }
  damage_.push_back(fmt::format("{}: its copy has {} more of its frames",
                                why_unread_.empty() ? path_.string() + " was cut off" : why_unread_,
                                copied_.size()));
}

std::optional<Frame> JournalReader::next_of_copy() {
  if (used_ == copied_.size()) return std::nullopt;
  const CopiedFrame& one = copied_[used_++];
  at_ = missing_at_;
  return Frame{one.kind, one.number, 0, one.payload};
}

std::optional<Frame> JournalReader::next_of_journal() {
  if (held_) return std::exchange(held_, std::nullopt);
  auto frame = frames_ ? frames_->next() : std::nullopt;
  if (!frame && may_be_cut_) {
    find_cut_end();
    frame = std::exchange(held_, std::nullopt);
  }
  return frame;
}

std::optional<Frame> JournalReader::next_frame() {
  if (auto copied = next_of_copy()) return copied;
  auto frame = next_of_journal();
  if (frames_) {
    for (const FrameDamage& one : frames_->take_damage()) tell(one);
  }
  if (auto copied = next_of_copy()) {
    held_ = frame;
    return copied;
  }
  if (frames_) at_ = frames_->position();
  return frame;
}

std::optional<JournalEvent> JournalReader::next() {
  if (std::exchange(has_pieces_, false)) pieces_.clear();
  while (const auto frame = next_frame()) {
    if (frame->number != expected_) {
      pieces_.clear();
      lost_ = has_lost_ = true;
    }
    expected_ = frame->number + 1;
    const auto kind = static_cast<EventKind>(frame->kind);
    piece_bytes_ += frame_bytes(frame->payload.size());
    if (kind == EventKind::piece) {
      pieces_.insert(pieces_.end(), frame->payload.begin(), frame->payload.end());
      continue;
    }
    position_ = {at_, expected_};
    if (const auto all = std::exchange(piece_bytes_, 0); is_copied(kind)) copied_bytes_ += all;
    std::span<const std::byte> payload = frame->payload;
    if (!pieces_.empty()) {
      pieces_.insert(pieces_.end(), payload.begin(), payload.end());
      payload = pieces_;
    }
    try {
      const JournalEvent event{kind, event_time(payload), std::exchange(lost_, false), payload};
      has_pieces_ = !pieces_.empty();
      last_kind_ = kind;
      return event;
    } catch (const Damaged&) {
      // The last part of an event whose first pieces are lost.
      damage_.push_back(fmt::format("{}: frame {} is of no use without those before it",
                                    path_.string(), frame->number));
      pieces_.clear();
      lost_ = has_lost_ = true;
    }
  }
  return std::nullopt;
}

JournalPosition mend_journal(Filesystem& filesystem, const fs::path& path, const fs::path& aside) {
  const fs::path made = path.string() + ".new";
  std::error_code error;
  fs::remove(made, error);
  JournalPosition position;
  {
    JournalReader reader(filesystem, path, {});
    FrameWriter writer(filesystem, made);
    WholeParts whole;
    std::int64_t last_us = 0;
    while (const auto event = reader.next()) {
      whole.add(*event, [&](EventKind kind, std::span<const std::byte> payload) {
        in_frames(kind, payload, [&](std::uint16_t frame, std::span<const std::byte> bytes) {
          writer.append(frame, bytes);
        });
        if (writer.pending_bytes() > kFrameBytesMax) writer.flush();
      });
      last_us = event->at_us;
    }
    if (path.filename() == kSealedName && reader.last_kind() != EventKind::sealed) {
      const SealedEvent end{static_cast<std::int64_t>(writer.frames())};
      writer.append(static_cast<std::uint16_t>(EventKind::sealed), encode_event(last_us, end));
    }
    writer.sync();
    position = {writer.bytes(), writer.frames()};
  }
  if (fs::exists(path, error)) {
    fs::create_hard_link(path, aside, error);
    // The link may exist already from an attempt that was interrupted here.
    std::error_code other;
    if (error && !fs::equivalent(path, aside, other)) {
      throw_system_error("keep aside", path, error.value());
    }
  }
  fs::rename(made, path);
  sync_directory(filesystem, path.parent_path());
  return position;
}

}  // namespace flor::store
