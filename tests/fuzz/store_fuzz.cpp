// Fuzz target of reading a store whose packs were changed behind its back. Input: pieces of six
// bytes, each a change to the pack of a small store:
//   u8 kind, u24 offset (modulo the length of the pack), two bytes of content.
//   kind bit 0: two bytes, else one; bit 1: exclusive or, else in their place; bit 2: the checksums
//   of the record's header and payload are made right afterwards; kind 0xFF: cut off there.
// Every checkpoint is either refused or right, and what is refused is found by fsck.
#include "base/little_endian.h"
#include "database/store_impl.h"
#include "file/filesystem.h"
#include "pack/pack_record.h"
#include "support/packs.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace flor::fuzz::store_target {
namespace {

using namespace flor::store;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// The disk as it is, except for the content of the pack.
class ChangedPack : public Filesystem {
 public:
  std::vector<std::byte> content;
  bool active = false;

  ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) override {
    if (!active) return Filesystem::pread(descriptor, bytes, size, offset);
    const auto from = std::min(static_cast<std::size_t>(offset), content.size());
    const std::size_t count = std::min(size, content.size() - from);
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(from), count,
                static_cast<std::byte*>(bytes));
    return static_cast<ssize_t>(count);
  }
};

/// Tensors of several types, of which each step changes a little.
Snapshot snapshot_of(int step) {
  constexpr ElementType kTypes[] = {ElementType::f32, ElementType::f64, ElementType::bf16,
                                    ElementType::i64, ElementType::u8,  ElementType::bytes,
                                    ElementType::c64};
  Snapshot snapshot;
  std::minstd_rand random(7);
  for (const ElementType type : kTypes) {
    constexpr std::size_t kBytes = 640;
    auto memory = std::shared_ptr<std::byte[]>(new std::byte[kBytes]);
    for (std::size_t i = 0; i < kBytes; ++i) {
      const bool high = i % 4 >= 2;
      memory[i] = static_cast<std::byte>(high ? 0x3c + i % 3 : random() >> 8);
      if (i % 37 == 0) memory[i] ^= static_cast<std::byte>(step);
    }
    SnapshotItem item{{std::string(to_string(type)), type, {}, kBytes},
                      Content(memory, memory.get())};
    snapshot.items.push_back(std::move(item));
  }
  return snapshot;
}

class Fixture {
 public:
  static constexpr int kSteps = 4;

  Fixture() {
    char pattern[] = "/tmp/flor-fuzz-XXXXXX";
    home_ = ::mkdtemp(pattern);
    store_ = Store::Impl::open(home_, OpenMode::create, disk);
    NewRun start;
    start.experiment = "fuzz";
    const Run run = store_->catalog().add_run(start);
    {
      CheckpointWriter writer(*store_, run.id);
      for (int step = 0; step < kSteps; ++step) {
        snapshots_.push_back(snapshot_of(step));
        ids_.push_back(writer.write({CheckpointKind::boundary, 0, step, ""}, snapshots_.back()).id);
      }
    }
    for (const auto& entry : flor::testing::packs_of(home_)) {
      std::FILE* file = std::fopen(entry.path().c_str(), "rb");
      original.resize(entry.file_size());
      require(std::fread(original.data(), 1, original.size(), file) == original.size(), "read");
      std::fclose(file);
    }
    for (std::size_t at = kPackHeaderBytes; at < original.size();) {
      records.push_back(at);
      at += kRecordHeaderBytes + get<std::uint32_t>(std::span(original).subspan(at + 12));
    }
  }
  ~Fixture() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }

  /// False if the checkpoint is refused.
  bool reads(int step) const {
    try {
      const CheckpointReader reader(*store_, ids_[static_cast<std::size_t>(step)]);
      const Snapshot& expected = snapshots_[static_cast<std::size_t>(step)];
      std::vector<std::vector<std::byte>> contents(expected.items.size());
      std::vector<Destination> destinations;
      for (std::size_t i = 0; i < contents.size(); ++i) {
        contents[i].resize(expected.items[i].item.bytes);
        destinations.push_back({i, contents[i]});
      }
      reader.read(destinations, 1);
      for (std::size_t i = 0; i < contents.size(); ++i) {
        require(std::memcmp(contents[i].data(), expected.items[i].content.get(),
                            contents[i].size()) == 0,
                "a wrong content was believed");
      }
      return true;
    } catch (const flor::Error&) {
      return false;
    }
  }

  bool is_sound() const { return check(*store_, true).findings.empty(); }

  ChangedPack disk;
  std::vector<std::byte> original;
  std::vector<std::size_t> records;

 private:
  std::filesystem::path home_;
  std::shared_ptr<Store> store_;
  std::vector<Snapshot> snapshots_;
  std::vector<std::int64_t> ids_;
};

void seal(std::vector<std::byte>& pack, std::size_t at) {
  if (at + kRecordHeaderBytes > pack.size()) return;
  const auto header = std::span(pack).subspan(at, kRecordHeaderBytes);
  const std::size_t stored = get<std::uint32_t>(header.subspan(12));
  const std::size_t begin = at + kRecordHeaderBytes;
  if (stored <= pack.size() - begin) {
    put(header.subspan(48), checksum(std::span(pack).subspan(begin, stored)));
  }
  put(header.subspan(56), checksum(header.first(56)));
}

void change(Fixture& fixture, const std::uint8_t* piece) {
  std::vector<std::byte>& pack = fixture.disk.content;
  if (pack.empty()) return;
  const std::size_t offset = (piece[1] + 256u * piece[2] + 65536u * piece[3]) % pack.size();
  if (piece[0] == 0xFF) {
    pack.resize(offset);
    return;
  }
  for (std::size_t i = 0; i < 1 + (piece[0] & 1u) && offset + i < pack.size(); ++i) {
    const auto value = static_cast<std::byte>(piece[4 + i]);
    pack[offset + i] = (piece[0] & 2) ? pack[offset + i] ^ value : value;
  }
  if (piece[0] & 4) {
    const auto next = std::ranges::upper_bound(fixture.records, offset);
    if (next != fixture.records.begin()) seal(pack, *(next - 1));
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  fixture.disk.content = fixture.original;
  for (std::size_t at = 0; at + 6 <= size && at < 60; at += 6) change(fixture, data + at);
  fixture.disk.active = true;
  bool all = true;
  for (int step = 0; step < Fixture::kSteps; ++step) all = fixture.reads(step) && all;
  if (!all) require(!fixture.is_sound(), "fsck does not find what cannot be read");
  fixture.disk.active = false;
  return 0;
}

}  // namespace flor::fuzz::store_target
