#include "remote/chunk_proof.h"

#include "codec/codec.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace flor::remote {
namespace {

/// Limit of the temporary file in bytes: kWaitingFree, plus kWaitingRatio times the bytes to be
/// received. Only content that was made to fill the disk when decompressed exceeds it.
constexpr std::uint64_t kWaitingFree = std::uint64_t{4} << 30;
constexpr std::uint64_t kWaitingRatio = 16;

[[noreturn]] void throw_scratch(const char* what, const std::filesystem::path& directory) {
  const int error = errno;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw Error(fmt::format("cannot {} a temporary file in {}: {}{}", what, directory.string(),
                          std::generic_category().message(error),
                          is_full ? ": free some space there" : ""));
}

void read_slot(int file, std::int64_t slot, std::span<std::byte> raw,
               const std::filesystem::path& directory) {
  const auto offset = static_cast<off_t>(slot) * static_cast<off_t>(store::kChunkBytes);
  for (std::size_t done = 0; done < raw.size();) {
    const ssize_t got =
        ::pread(file, raw.data() + done, raw.size() - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_scratch("read", directory);
    done += static_cast<std::size_t>(got);
  }
}

void write_slot(int file, std::int64_t slot, std::span<const std::byte> raw,
                const std::filesystem::path& directory) {
  const auto offset = static_cast<off_t>(slot) * static_cast<off_t>(store::kChunkBytes);
  for (std::size_t done = 0; done < raw.size();) {
    const ssize_t put =
        ::pwrite(file, raw.data() + done, raw.size() - done, offset + static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw_scratch("write", directory);
    done += static_cast<std::size_t>(put);
  }
}

}  // namespace

ChunkProof::ChunkProof(std::filesystem::path scratch, FindHere find_here, OnFlaw on_flaw)
    : scratch_(scratch.empty() ? std::filesystem::temp_directory_path() : std::move(scratch)),
      find_here_(std::move(find_here)),
      on_flaw_(std::move(on_flaw)) {}

ChunkProof::~ChunkProof() {
  if (file_ >= 0) ::close(file_);
}

void ChunkProof::expect(const Record& record) {
  expected_.insert(record.digest);
  expected_bytes_ += record.bytes();
  if (record.has_base()) ++bases_[record.base].dependents;
}

void ChunkProof::take(const Record& record, std::span<const std::byte> bytes) {
  const auto payload = bytes.subspan(store::kRecordHeaderBytes, record.stored_bytes);
  if (must_wait(record, payload)) return;
  settle({record, Payload(payload.begin(), payload.end())});
}

void ChunkProof::give_up(const Record& record) {
  for (Arrived& arrived : conclude(record, false, {})) settle(std::move(arrived));
}

std::size_t ChunkProof::proven() const {
  const std::lock_guard lock(mutex_);
  return proven_;
}

bool ChunkProof::must_wait(const Record& record, std::span<const std::byte> payload) {
  if (!record.has_base()) return false;
  const std::lock_guard lock(mutex_);
  Base& base = bases_.at(record.base);
  if (base.state != Base::State::awaited) return false;
  if (!expected_.contains(record.base)) {
    find_base(record.base, base, record.raw_bytes);
    return false;
  }
  base.waiting.push_back({record, Payload(payload.begin(), payload.end())});
  return true;
}

void ChunkProof::settle(Arrived first) {
  std::vector<Arrived> work;
  work.push_back(std::move(first));
  std::vector<std::byte> raw;
  while (!work.empty()) {
    const Arrived arrived = std::move(work.back());
    work.pop_back();
    const bool proven = is_proven(arrived.record, arrived.payload, raw);
    for (Arrived& next : conclude(arrived.record, proven, raw)) work.push_back(std::move(next));
  }
}

/// Decodes a record and compares it with its digest. Reports a failure, unless its base is lost,
/// which was already reported.
bool ChunkProof::is_proven(const Record& record, std::span<const std::byte> payload,
                           std::vector<std::byte>& raw) {
  raw.resize(record.raw_bytes);
  std::vector<std::byte> base;
  if (record.has_base()) {
    std::int64_t slot = -1;
    std::size_t bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const Base& entry = bases_.at(record.base);
      if (entry.state == Base::State::lost) return false;
      slot = entry.slot;
      bytes = entry.bytes;
    }
    if (bytes != record.raw_bytes) {
      on_flaw_(record, "its base has another length");
      return false;
    }
    base.resize(bytes);
    read_slot(file_, slot, base, scratch_);
  }
  std::string why = "its content does not have its digest";
  try {
    store::DecodeScratchPool::Lease scratch(pool_);
    if (store::decode_and_digest((*scratch).codec, record.codec, record.type, payload, base, raw) ==
        record.digest) {
      return true;
    }
  } catch (const Damaged& error) {
    why = error.what();
  }
  on_flaw_(record, why);
  return false;
}

/// Looks for a base in the local store, if it is not among the records to be received.
void ChunkProof::find_base(const Digest& digest, Base& base, std::uint32_t bytes) {
  std::vector<std::byte> raw(bytes);
  if (find_here_(digest, raw)) {
    keep(base, raw);
    base.state = Base::State::ready;
  } else {
    base.state = Base::State::lost;
  }
}

/// Handles the records that waited for this base, after it was proven or lost.
std::vector<ChunkProof::Arrived> ChunkProof::conclude(const Record& record, bool proven,
                                                      std::span<const std::byte> raw) {
  const std::lock_guard lock(mutex_);
  if (proven) ++proven_;
  if (record.has_base()) {
    Base& base = bases_.at(record.base);
    if (--base.dependents == 0 && base.slot >= 0) {
      free_slots_.push_back(base.slot);
      base.slot = -1;
    }
  }
  const auto found = bases_.find(record.digest);
  if (found == bases_.end() || found->second.state != Base::State::awaited) return {};
  Base& base = found->second;
  if (proven && base.dependents > 0) keep(base, raw);
  base.state = proven ? Base::State::ready : Base::State::lost;
  return std::exchange(base.waiting, {});
}

void ChunkProof::keep(Base& base, std::span<const std::byte> raw) {
  if (file_ < 0) open_file();
  if (free_slots_.empty()) {
    const auto bytes = static_cast<std::uint64_t>(slots_ + 1) * store::kChunkBytes;
    if (bytes > kWaitingFree + kWaitingRatio * expected_bytes_) {
      throw Damaged("what arrives unpacks to much more than content does: it was not taken over");
    }
    free_slots_.push_back(slots_++);
  }
  base.slot = free_slots_.back();
  free_slots_.pop_back();
  base.bytes = raw.size();
  write_slot(file_, base.slot, raw, scratch_);
}

void ChunkProof::open_file() {
  std::string name = (scratch_ / "proof-XXXXXX").string();
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) throw_scratch("make", scratch_);
  ::unlink(name.c_str());
}

}  // namespace flor::remote
