#include "pack/pack_writer.h"

#include "database/schema.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/random.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

namespace flor::store {
namespace {

/// A pack is closed at this size, so that garbage collection can rewrite a store pack by pack.
constexpr std::uint64_t kPackBytes = std::uint64_t{256} << 20;

/// Small records are gathered into writes of this size, which makes the cost of the calls
/// negligible.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

/// Payloads of at least this size are written without gathering: copying them would cost as much as
/// the kernel's copy.
constexpr std::size_t kDirectBytes = std::size_t{128} << 10;

std::filesystem::path with_directory(std::filesystem::path pack) {
  require_directory_in_home(pack.parent_path());
  return pack;
}

}  // namespace

OpenPack::OpenPack(Filesystem& filesystem, const Paths& paths, std::uint64_t pack_key)
    : key(pack_key),
      name(fmt::format("{:016x}", key)),
      file(filesystem, with_directory(paths.pack(name)), O_RDWR | O_CREAT | O_EXCL, kInHome) {
  // Shows other processes that the writer lives: bytes at the end may not be garbage yet, and the
  // pack must not be compacted. A process that checks this holds the lock for a moment only.
  is_locked = lock_file(file.descriptor(), LOCK_EX);
}

PackWriter::PackWriter(Paths paths, Filesystem& filesystem, PackOrigin origin)
    : paths_(std::move(paths)), filesystem_(filesystem), origin_(origin) {}

PackWriter::~PackWriter() = default;

std::uint64_t PackWriter::memory_max() { return kBufferBytes; }

RecordPlace PackWriter::append(const RecordHeader& header, std::span<const std::byte> payload) {
  if (pack_ && pack_->bytes >= kPackBytes) {
    flush();
    pack_->file.sync_data();
    filled_.push_back(std::move(pack_));
    pack_.reset();
  }
  if (!pack_) open_next();
  if (touched_.empty() || touched_.back() != pack_) touched_.push_back(pack_);
  const auto bytes = encode_header(header);
  const bool direct = payload.size() >= kDirectBytes;
  if (buffer_.size() + bytes.size() + (direct ? 0 : payload.size()) > kBufferBytes) flush();
  const RecordPlace place{pack_, pack_->bytes};
  gather(bytes);
  if (direct) {
    flush();
    pack_->file.write_at(payload, pack_->bytes);
    pack_->bytes += payload.size();
  } else {
    gather(payload);
  }
  appended_ += bytes.size() + payload.size();
  return place;
}

std::vector<std::shared_ptr<OpenPack>> PackWriter::in_use() const {
  std::vector<std::shared_ptr<OpenPack>> packs = touched_;
  const auto add = [&](const std::shared_ptr<OpenPack>& pack) {
    if (pack && std::ranges::find(packs, pack) == packs.end()) packs.push_back(pack);
  };
  std::ranges::for_each(filled_, add);
  add(pack_);
  return packs;
}

std::size_t PackWriter::number_of(const RecordPlace& place) const {
  const auto pack = std::ranges::find(touched_, place.pack);
  if (pack == touched_.end()) throw Error("a record lies in a pack that is not being written");
  return static_cast<std::size_t>(pack - touched_.begin());
}

void PackWriter::open_next() {
  auto pack = std::make_shared<OpenPack>(filesystem_, paths_, random_bits());
  touched_.push_back(pack);  // from here on `roll_back` removes the file
  const std::filesystem::path directory = paths_.pack(pack->name).parent_path();
  sync_directory(filesystem_, directory);
  sync_directory(filesystem_, directory.parent_path());  // the pack's directory may be new
  const auto header =
      encode_header(PackHeader{.format = kFormat, .key = pack->key, .origin = origin_});
  buffer_.reserve(kBufferBytes);
  buffer_.assign(header.begin(), header.end());
  pack->bytes = header.size();
  pack_ = std::move(pack);
}

void PackWriter::gather(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  pack_->bytes += bytes.size();
}

void PackWriter::flush() {
  if (!pack_ || buffer_.empty()) return;
  pack_->file.write_at(buffer_, pack_->bytes - buffer_.size());
  buffer_.clear();
}

void PackWriter::sync() {
  if (!pack_ || touched_.empty()) return;
  flush();
  pack_->file.sync_data();
}

void PackWriter::committed() {
  for (const auto& pack : touched_) pack->committed = pack->bytes;
  forget();
  for (const auto& pack : doubtful_) discard(*pack);
  doubtful_.clear();
}

void PackWriter::forget() noexcept {
  touched_.clear();
  filled_.clear();
  appended_ = 0;
}

void PackWriter::discard(OpenPack& pack) noexcept {
  if (pack.committed == 0) {
    filesystem_.unlink(pack.file.path().c_str());
  } else {
    pack.file.truncate(pack.committed);
  }
}

void PackWriter::roll_back(bool may_be_referred_to) noexcept {
  for (const auto& pack : touched_) {
    if (may_be_referred_to) {
      doubtful_.push_back(pack);
    } else {
      discard(*pack);
    }
  }
  abandon();
}

void PackWriter::abandon() noexcept {
  if (!touched_.empty()) pack_.reset();
  buffer_.clear();
  forget();
}

}  // namespace flor::store
