// Framed files: every flipped bit is undone, other damage costs what it touches and is told to the
// frame, an end that is torn is told from both, and what a disk refused is written when it has
// room.
#include "base/little_endian.h"
#include "file/crc64.h"
#include "file/frames.h"
#include "store/faulty_filesystem.h"
#include "support/one_file.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace flor::store {

void PrintTo(const FrameDamage& damage, std::ostream* out) {
  *out << "at " << damage.offset << ", " << damage.bytes << " bytes: " << damage.lost
       << " frames from " << damage.first << (damage.undone ? ", undone" : "");
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct Sent {
  std::uint16_t kind = 0;
  Bytes payload;
  bool operator==(const Sent&) const = default;
};

/// What a reader makes of a file.
struct Reading {
  std::map<std::uint64_t, Sent> frames;  // by number
  std::vector<FrameDamage> damage;
  std::uint64_t position = 0;
};

Reading read_on(FrameReader& reader) {
  Reading reading;
  while (const auto frame = reader.next()) {
    Sent sent{frame->kind, Bytes(frame->payload.begin(), frame->payload.end())};
    EXPECT_TRUE(reading.frames.try_emplace(frame->number, std::move(sent)).second);
  }
  reading.damage = reader.take_damage();
  reading.position = reader.position();
  return reading;
}

Reading read(const Bytes& content) {
  OneFile disk;
  disk.content = content;
  const File file(disk, "a.journal", O_RDONLY);
  FrameReader reader(file);
  return read_on(reader);
}

Bytes written(const std::vector<Sent>& frames) {
  OneFile disk;
  FrameWriter writer(disk, "a.journal");
  for (const Sent& frame : frames) writer.append(frame.kind, frame.payload);
  writer.sync();
  EXPECT_EQ(writer.bytes(), disk.content.size());
  return disk.content;
}

/// Frames of all lengths around the alignment, an empty one, and one whose content is itself a
/// framed file.
std::vector<Sent> some_frames() {
  std::vector<Sent> frames = {
      {1, bytes_of("a run begins")}, {2, {}}, {0xFFFF, Bytes(100, std::byte{0xA5})}};
  for (std::size_t size = 1; size < 18; ++size)
    frames.push_back({3, Bytes(size, static_cast<std::byte>(size))});
  frames.push_back({4, written({{1, bytes_of("in a frame")}, {1, bytes_of("lie frames")}})});
  frames.push_back({5, bytes_of("the last one")});
  return frames;
}

/// That each frame which was read is as it was sent, and each which was not is told as lost.
void expect_told(const Reading& reading, const std::vector<Sent>& sent, const std::string& what) {
  std::set<std::uint64_t> told;
  for (const FrameDamage& damage : reading.damage) {
    for (std::uint64_t i = 0; i < damage.lost; ++i)
      EXPECT_TRUE(told.insert(damage.first + i).second) << what;
  }
  const std::uint64_t end = reading.frames.empty() ? 0 : reading.frames.rbegin()->first + 1;
  for (const auto& [number, frame] : reading.frames) {
    ASSERT_LT(number, sent.size()) << what;
    EXPECT_EQ(frame, sent[number]) << what << ", frame " << number;
    EXPECT_FALSE(told.contains(number)) << what;
  }
  for (std::uint64_t i = 0; i < end; ++i) {
    EXPECT_TRUE(reading.frames.contains(i) || told.contains(i)) << what << ", frame " << i;
  }
}

TEST(Crc64, IsThatOfXz) {
  EXPECT_EQ(crc64(bytes_of("123456789")), 0x995DC9BBDF1939FA);
  EXPECT_EQ(crc64({}), 0);
  const Bytes text = bytes_of("The quick brown fox jumps over the lazy dog");
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc64(std::span(text).subspan(cut), crc64(std::span(text).first(cut))), crc64(text));
  }
}

TEST(Crc64, TellsTheBitThatWasFlippedAndNeverTakesTwoForOne) {
  std::mt19937_64 random(1);
  Bytes bytes(1000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto flip = [&](std::uint64_t bit) {
    bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  };
  const std::uint64_t sound = crc64(bytes);
  for (std::uint64_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    flip(bit);
    ASSERT_EQ(flipped_bit(bytes.size(), crc64(bytes) ^ sound), bit);
    const std::uint64_t other = random() % (8 * bytes.size());
    flip(other);
    if (other != bit) {
      ASSERT_EQ(flipped_bit(bytes.size(), crc64(bytes) ^ sound), std::nullopt);
    }
    flip(other);
    flip(bit);
  }
}

TEST(FramesTest, AreReadAsTheyWereWritten) {
  const std::vector<Sent> sent = some_frames();
  const Bytes content = written(sent);
  const Reading reading = read(content);
  EXPECT_THAT(reading.frames, SizeIs(sent.size()));
  expect_told(reading, sent, "sound");
  EXPECT_THAT(reading.damage, IsEmpty());
  EXPECT_EQ(reading.position, content.size());
}

TEST(FramesTest, EveryFlippedBitIsUndoneAndTold) {
  const std::vector<Sent> sent = some_frames();
  Bytes content = written(sent);
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    content[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    const Reading reading = read(content);
    content[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    const std::string what = "bit " + std::to_string(bit);
    ASSERT_THAT(reading.frames, SizeIs(sent.size())) << what;
    expect_told(reading, sent, what);
    ASSERT_THAT(reading.damage, SizeIs(1)) << what;
    ASSERT_TRUE(reading.damage[0].undone) << what;
    ASSERT_LE(reading.damage[0].offset, bit / 8) << what;
    ASSERT_GT(reading.damage[0].offset + reading.damage[0].bytes, bit / 8) << what;
  }
}

TEST(FramesTest, EveryTruncationIsATornTailAfterWholeFrames) {
  const std::vector<Sent> sent = some_frames();
  const Bytes content = written(sent);
  for (std::size_t size = kFileHeaderBytes; size < content.size(); ++size) {
    const Bytes part(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(size));
    const Reading reading = read(part);
    expect_told(reading, sent, "cut at " + std::to_string(size));
    EXPECT_THAT(reading.damage, IsEmpty());
    EXPECT_LE(reading.position, size);
    std::uint64_t whole = kFileHeaderBytes;
    for (std::uint64_t i = 0; i < reading.frames.size(); ++i)
      whole += frame_bytes(sent[i].payload.size());
    EXPECT_EQ(reading.position, whole);
    EXPECT_GT(whole + frame_bytes(sent[reading.frames.size()].payload.size()), size);
  }
}

TEST(FramesTest, OfOtherDamageEveryFrameThatItDoesNotTouchIsReadAndTheOthersAreCounted) {
  const std::vector<Sent> sent = some_frames();
  const Bytes sound = written(sent);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Bytes content = sound;
    const std::size_t from = kFileHeaderBytes + random() % (content.size() - kFileHeaderBytes);
    const std::size_t size =
        1 + random() % std::min<std::size_t>(content.size() - from, 1 + random() % 400);
    const bool zeros = random() % 2 == 0;
    for (std::size_t at = from; at < from + size; ++at)
      content[at] = zeros ? std::byte{} : static_cast<std::byte>(random());
    const Reading reading = read(content);
    const std::string what = "bytes " + std::to_string(from) + " to " + std::to_string(from + size);
    expect_told(reading, sent, what);
    std::uint64_t offset = kFileHeaderBytes;
    for (std::uint64_t number = 0; number < sent.size(); ++number) {
      const std::uint64_t end = offset + frame_bytes(sent[number].payload.size());
      if (end <= from || offset >= from + size) {
        EXPECT_TRUE(reading.frames.contains(number)) << what;
      }
      offset = end;
    }
  }
}

TEST(FramesTest, OfAnotherFileAreNeverTakenForThoseOfThis) {
  const std::vector<Sent> sent = some_frames();
  Bytes content = written(sent);
  const Bytes other = written(sent);
  const auto half = static_cast<std::ptrdiff_t>(content.size() / 2);
  std::copy(other.begin() + half, other.end(), content.begin() + half);
  const Reading reading = read(content);
  EXPECT_LT(reading.frames.size(), sent.size());
  expect_told(reading, sent, "spliced");
  EXPECT_THAT(reading.damage, IsEmpty());  // a tail: nothing of this file follows
}

TEST(FramesTest, ThatAreTwiceInTheFileAreReadOnce) {
  const std::vector<Sent> sent = {
      {1, bytes_of("first")}, {1, bytes_of("second")}, {1, bytes_of("third")}};
  Bytes content = written(sent);
  const Bytes second(content.begin() + 80, content.begin() + 128);
  content.insert(content.begin() + 128, second.begin(), second.end());
  const Reading reading = read(content);
  EXPECT_THAT(reading.frames, SizeIs(3));
  expect_told(reading, sent, "doubled");
  ASSERT_THAT(reading.damage, SizeIs(1));
  EXPECT_EQ(reading.damage[0].lost, 0U);
  EXPECT_EQ(reading.damage[0].bytes, 48U);
}

TEST(FramesTest, FromElsewhereAreTakenAsTheyWereWrittenOrNotAtAll) {
  const auto frames_of = [](const Bytes& content) {
    OneFile disk;
    disk.content = content;
    const File file(disk, "a.journal", O_RDONLY);
    FrameReader reader(file, FrameSource::elsewhere);
    std::size_t count = 0;
    while (reader.next()) ++count;
    return count;
  };
  const std::vector<Sent> sent = {{1, bytes_of("first")}, {1, {}}, {2, Bytes(50, std::byte{1})}};
  Bytes content = written(sent);
  EXPECT_EQ(frames_of(content), sent.size());
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    content[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    EXPECT_THROW(frames_of(content), Damaged) << bit;
    content[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  }
  content.pop_back();
  EXPECT_THROW(frames_of(content), Damaged);
}

TEST(FramesTest, AreReadWhileTheyAreWritten) {
  OneFile disk;
  FrameWriter writer(disk, "a.journal");
  writer.flush();
  const File file(disk, "a.journal", O_RDONLY);
  FrameReader reader(file);
  EXPECT_EQ(reader.next(), std::nullopt);
  std::mt19937 random(3);
  std::vector<Sent> sent;
  for (int i = 0; i < 300; ++i) {
    sent.push_back(
        {static_cast<std::uint16_t>(i), Bytes(random() % 2'000, static_cast<std::byte>(i))});
    const std::size_t before = disk.content.size();
    writer.append(sent.back().kind, sent.back().payload);
    EXPECT_EQ(reader.next(), std::nullopt);  // in memory
    writer.flush();
    // A reader may see a part of what is written at once, and then all of it.
    const Bytes all = disk.content;
    disk.content.resize(before + random() % (all.size() - before));
    EXPECT_EQ(reader.next(), std::nullopt);
    disk.content = all;
    std::fill(disk.content.begin() +
                  static_cast<std::ptrdiff_t>(before + random() % (all.size() - before)),
              disk.content.end(), std::byte{});
    const bool equal = disk.content == all;
    if (!equal) {
      EXPECT_EQ(reader.next(), std::nullopt) << i;
    }
    disk.content = all;
    const auto frame = reader.next();
    ASSERT_TRUE(frame) << i;
    EXPECT_EQ(frame->number, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(std::ranges::equal(frame->payload, sent.back().payload));
  }
  EXPECT_THAT(reader.take_damage(), IsEmpty());
}

/// A file of which another process writes more while it is read: each time its end is met, `step`
/// bytes more are there.
class GrowingFile : public OneFile {
 public:
  GrowingFile(Bytes all, std::size_t begin, std::size_t step)
      : OneFile(std::move(all)), visible_(begin), step_(step) {}
  ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) override {
    const auto from = std::min(static_cast<std::size_t>(offset), visible_);
    if (from == visible_) {
      visible_ = std::min(visible_ + step_, content.size());
      return 0;
    }
    return OneFile::pread(descriptor, bytes, std::min(size, visible_ - from), offset);
  }
  bool is_whole() const { return visible_ == content.size(); }

 private:
  std::size_t visible_, step_;
};

TEST(FramesTest, AreNotTakenForDamagedWhileTheirEndIsBeingWritten) {
  std::mt19937 random(5);
  for (std::size_t step : {40, 200, 1'000, 5'000}) {
    std::vector<Sent> sent;
    for (int i = 0; i < 40; ++i) sent.push_back({1, Bytes(random() % 4'000, std::byte{7})});
    const Bytes all = written(sent);
    for (std::size_t begin = kFileHeaderBytes; begin < 3'000; begin += 97) {
      GrowingFile disk(all, begin, step);
      const File file(disk, "a.journal", O_RDONLY);
      FrameReader reader(file);
      std::size_t read = 0;
      while (read < sent.size()) {
        const bool was_whole = disk.is_whole();
        if (const auto frame = reader.next()) {
          ASSERT_EQ(frame->number, read) << "step " << step << ", from " << begin;
          ++read;
        } else {
          ASSERT_FALSE(was_whole);
        }
      }
      EXPECT_THAT(reader.take_damage(), IsEmpty());
    }
  }
}

TEST(FramesTest, ThatTheDiskRefusedAreWrittenWhenItHasRoom) {
  const testing::TemporaryDirectory directory;
  const std::vector<Sent> sent = some_frames();
  for (int fail_at = 1; fail_at < 12; ++fail_at) {
    FaultyFilesystem disk;
    const auto path = directory.path() / (std::to_string(fail_at) + ".journal");
    FrameWriter writer(disk, path);
    disk.calls = 0;
    disk.fail_at = fail_at;
    disk.stays_broken = false;
    int refused = 0;
    for (const Sent& frame : sent) {
      writer.append(frame.kind, frame.payload);
      try {
        writer.flush();
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_EQ(refused, 1);
    EXPECT_FALSE(writer.is_lost());
    writer.sync();
    const File file(Filesystem::system(), path, O_RDONLY);
    FrameReader reader(file);
    const Reading reading = read_on(reader);
    EXPECT_THAT(reading.frames, SizeIs(sent.size()));
    expect_told(reading, sent, "refused at " + std::to_string(fail_at));
    EXPECT_THAT(reading.damage, IsEmpty());
  }
}

TEST(FramesTest, AreNotTrustedToAFileThatTheDiskDidNotKeep) {
  const testing::TemporaryDirectory directory;
  FaultyFilesystem disk;
  disk.error = EIO;
  FrameWriter writer(disk, directory.path() / "a.journal");
  writer.append(1, bytes_of("kept"));
  writer.sync();
  writer.append(1, bytes_of("who knows"));
  writer.flush();
  disk.calls = 0;
  disk.fail_at = 1;
  EXPECT_THROW(writer.sync(), Error);
  disk.heal();
  EXPECT_TRUE(writer.is_lost());
  EXPECT_EQ(writer.synced_frames(), 1U);
  writer.append(1, bytes_of("later"));
  EXPECT_THROW(writer.flush(), Error);
  EXPECT_THROW(writer.sync(), Error);
}

/// A disk that fails at a write that has left whole frames, and then does not cut them off either.
TEST(FramesTest, ThatCouldNotBeCutOffAreInNoFileThatGoesOn) {
  const testing::TemporaryDirectory directory;
  for (const bool heals_first : {true, false}) {
    const auto path = directory.path() / (heals_first ? "a.journal" : "b.journal");
    const auto frames_there = [&] {
      const File file(Filesystem::system(), path, O_RDONLY);
      FrameReader reader(file);
      return read_on(reader).frames.size();
    };
    FaultyFilesystem disk;
    disk.error = EIO;
    {
      FrameWriter writer(disk, path);
      writer.append(1, bytes_of("first"));
      writer.sync();
      const FrameWriter::Mark mark = writer.mark();
      for (int i = 0; i < 4; ++i) writer.append(2, bytes_of("failed"));
      disk.calls = 0;
      disk.fail_at = 1;
      EXPECT_THROW(writer.flush(), Error);
      writer.take_back(mark);
      EXPECT_EQ(frames_there(), 3U) << "the fault is not one that leaves whole frames";
      EXPECT_TRUE(writer.is_lost());
      EXPECT_THROW(writer.cut_off(), Error);
      writer.append(1, bytes_of("later"));
      EXPECT_THROW(writer.flush(), Error);
      disk.heal();
      if (heals_first) {
        writer.cut_off();
        EXPECT_EQ(frames_there(), 1U);
        EXPECT_THROW(writer.flush(), Error) << "it may have been read on meanwhile";
      }
    }
    EXPECT_EQ(frames_there(), 1U);
  }
}

TEST(FramesTest, BeginInAFileThatSaysSo) {
  EXPECT_THROW(read({}), Damaged);
  EXPECT_THROW(read(bytes_of("no file of Flor's, though it is long enough for a header")), Damaged);
  Bytes newer = written({});
  put(std::span(newer).subspan(8), std::uint32_t{3});
  put(std::span(newer).subspan(24), crc64(std::span(newer).first(24)));
  try {
    read(newer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("format 3, this Flor reads 2: update Flor"));
    EXPECT_EQ(error.status(), ExitStatus::failed);
  }
}

TEST(FramesTest, AreAtMostAsLargeAsAReaderTakes) {
  OneFile disk;
  FrameWriter writer(disk, "a.journal");
  EXPECT_THROW(writer.append(1, Bytes(kFrameBytesMax + 1)), Error);
  writer.append(1, Bytes(kFrameBytesMax, std::byte{7}));
  writer.sync();
  EXPECT_THAT(read(disk.content).frames, SizeIs(1));
}

RC_GTEST_PROP(FramesProperty, WhateverTheBytesAreReadingThemEndsAndTellsEachOnce, ()) {
  const std::vector<Sent> sent = some_frames();
  Bytes content = written(sent);
  const auto edits = *rc::gen::inRange(0, 40);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(kFileHeaderBytes, content.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        content[at] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
        break;
      case 1:
        content.erase(content.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        content.insert(content.begin() + static_cast<std::ptrdiff_t>(at), std::byte{});
        break;
      default: {
        const auto end = *rc::gen::inRange(at, content.size());
        const Bytes part(content.begin() + static_cast<std::ptrdiff_t>(at),
                         content.begin() + static_cast<std::ptrdiff_t>(end));
        content.insert(content.end(), part.begin(), part.end());
      }
    }
  }
  expect_told(read(content), sent, "edited");
}

}  // namespace
}  // namespace flor::store
