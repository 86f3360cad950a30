// Printed bytes are kept: the first and the last, each piece with its place and time.
#include "protocol/printed_tape.h"

#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace flor::detail::printed_tape_test {
namespace {

using store::Printed;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000;

/// A tape, fed as by the process that hands on.
class Fed {
 public:
  explicit Fed(std::uint64_t limit)
      : shape_(PrintedTape::shape_of(limit)),
        memory_(std::make_unique<std::uint64_t[]>(PrintedTape::size_of(shape_) / 8 + 1)),
        tape_(PrintedTape::make(reinterpret_cast<std::byte*>(memory_.get()), shape_,
                                Printed::Stream::out)) {}

  void print(std::string_view text) {
    all_ += text;
    while (!text.empty()) {
      const auto room = tape_->room();
      const std::size_t count = std::min(room.size(), text.size());
      std::memcpy(room.data(), text.data(), count);
      tape_->came(count, now_);
      text.remove_prefix(count);
    }
  }
  void mark(std::int64_t epoch, std::string_view path, bool kept = true) {
    tape_->mark(tape_->position, epoch, path, kept);
  }
  void wait(std::int64_t us) { now_ += us; }

  std::vector<Printed> cut() const { return tape_->cut(0, tape_->position); }
  PrintedTape& tape() { return *tape_; }
  const std::string& all() const { return all_; }
  void save(const std::filesystem::path& file) const {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(tape_), static_cast<std::streamsize>(tape_->used()));
  }

 private:
  PrintedTape::Shape shape_;
  std::unique_ptr<std::uint64_t[]> memory_;
  PrintedTape* tape_;
  std::string all_;
  std::int64_t now_ = kSecond;
};

std::vector<std::string> texts(const std::vector<Printed>& pieces) {
  std::vector<std::string> result;
  for (const Printed& piece : pieces) {
    result.push_back(std::to_string(piece.place.epoch) + piece.place.path + ":" + piece.text);
  }
  return result;
}

TEST(PrintedTapes, CutAtThePlaces) {
  Fed tape(1 << 20);
  tape.print("begin\n");
  tape.mark(0, "e");
  tape.print("a\n");
  tape.mark(0, "e/train");  // nothing is printed there
  tape.mark(1, "e");
  tape.print("b");
  tape.print("c\n");
  EXPECT_THAT(texts(tape.cut()), ElementsAre("-1:begin\n", "0e:a\n", "1e:bc\n"));
}

TEST(PrintedTapes, LeaveOutWhatIsPrintedAgain) {
  Fed tape(1 << 20);
  tape.mark(3, "e", false);
  tape.print("again\n");
  tape.mark(4, "e");
  tape.print("new\n");
  EXPECT_THAT(texts(tape.cut()), ElementsAre("4e:new\n"));
}

TEST(PrintedTapes, KnowWhenTheirPiecesWerePrinted) {
  Fed tape(1 << 20);
  tape.print("a");
  tape.wait(5 * kSecond);
  tape.mark(0, "e");
  tape.print("b");
  const auto pieces = tape.cut();
  ASSERT_THAT(pieces, SizeIs(2));
  EXPECT_EQ(pieces[0].time_us, kSecond);
  EXPECT_EQ(pieces[1].time_us, 6 * kSecond);
}

TEST(PrintedTapes, KeepTheFirstAndTheLastBytesAndNameTheGap) {
  Fed tape(200'000);
  tape.mark(0, "e");
  for (int i = 0; i < 50'000; ++i) tape.print("line " + std::to_string(i) + "\n");
  tape.mark(1, "e");
  tape.print("the end\n");
  std::string kept;
  std::uint64_t gap = 0;
  for (const Printed& piece : tape.cut()) {
    if (piece.stream == Printed::Stream::gap) {
      EXPECT_EQ(gap, 0u);
      gap = std::stoull(piece.text);
      EXPECT_EQ(kept, tape.all().substr(0, 100'000));
      kept.clear();
    } else {
      kept += piece.text;
    }
  }
  EXPECT_GE(kept.size(), 99'000u);
  EXPECT_TRUE(kept.starts_with("line "));
  EXPECT_TRUE(tape.all().ends_with(kept));
  EXPECT_EQ(100'000 + gap + kept.size(), tape.all().size());
}

TEST(PrintedTapes, DropOfTheEndWhatHasNoKnownPlace) {
  Fed tape(200'000);
  tape.print(std::string(100'000, 'h'));
  for (int i = 0; i < 3000; ++i) {
    tape.mark(i, "e");
    tape.print("e\n");
  }
  const auto pieces = tape.cut();
  std::int64_t expected = 3000 - 1024 + 1;  // the end begins with a whole line
  for (const Printed& piece : pieces) {
    if (piece.place.epoch < 0 || piece.stream == Printed::Stream::gap) continue;
    EXPECT_EQ(piece.place.epoch, expected++);
  }
  EXPECT_EQ(expected, 3000);
}

RC_GTEST_PROP(PrintedTapes, LoseNoByteThatFits, ()) {
  Fed tape(1 << 20);
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
  std::vector<std::string> expected;
  std::int64_t epoch = 0;
  for (const std::string& part : parts) {
    tape.mark(epoch, "e");
    tape.print(part);
    if (!part.empty()) expected.push_back(std::to_string(epoch) + "e:" + part);
    ++epoch;
  }
  RC_ASSERT(texts(tape.cut()) == expected);
}

TEST(PrintedTapes, OfADeadProgramAreReadAsAFileAndDamageIsPassedOver) {
  const testing::TemporaryDirectory directory;
  const auto file = directory.path() / "output";
  EXPECT_THAT(read_printed_rest(file), IsEmpty());
  Fed tape(1 << 20);
  tape.mark(0, "e");
  tape.print("kept already\n");
  tape.tape().written = tape.tape().position.load();
  tape.print("the last words");
  tape.save(file);
  EXPECT_THAT(texts(read_printed_rest(file)), ElementsAre("0e:the last words"));
  const auto size = std::filesystem::file_size(file);
  for (const std::uint64_t left : {std::uint64_t{0}, std::uint64_t{100}, size / 2, size - 1}) {
    std::filesystem::resize_file(file, left);
    EXPECT_THAT(read_printed_rest(file), IsEmpty());
  }
}

RC_GTEST_PROP(PrintedTapes, AnyFileIsReadWithoutHarm, ()) {
  static const testing::TemporaryDirectory directory;
  const auto file = directory.path() / "output";
  Fed tape(1 << 10);
  tape.mark(0, "e");
  tape.print("some text\n");
  tape.save(file);
  const auto at = *rc::gen::inRange<std::uint64_t>(0, 400);
  const auto byte = *rc::gen::arbitrary<char>();
  {
    std::fstream changed(file, std::ios::in | std::ios::out | std::ios::binary);
    changed.seekp(static_cast<std::streamoff>(at));
    changed.put(byte);
  }
  std::uint64_t sum = 0;
  for (const Printed& piece : read_printed_rest(file)) sum += piece.text.size();
  RC_ASSERT(sum < 1'000'000);
}

}  // namespace
}  // namespace flor::detail::printed_tape_test
