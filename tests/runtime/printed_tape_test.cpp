// Printed bytes are kept: the first and the last, each piece with its place and time.
#include "protocol/printed_tape.h"

#include "support/temporary_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

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

/// A program that printed two lines to a file, the second in epoch 0, and wrote the first to its
/// journal; later it printed its last words.
class PrintedLogs : public ::testing::Test {
 protected:
  static constexpr std::string_view kShell = "of the shell\n", kOld = "kept already\n",
                                    kNew = "of epoch 0\n";
  PrintedLogs() {
    const std::string all = std::string(kShell) + std::string(kOld) + std::string(kNew);
    append(all);
    PrintedTape& tape = log_.tape;
    tape.begin_without_text(1 << 20, Printed::Stream::out);
    log_.offset = kShell.size();
    tape.came(kOld.size(), kSecond);
    tape.mark(tape.position, 0, "e", true);
    tape.came(kNew.size(), 2 * kSecond);
    tape.written = kOld.size();
    struct stat status {};
    EXPECT_EQ(::stat(file_.c_str(), &status), 0);
    log_.number = status.st_ino;
    log_.tail_bytes = all.size();
    all.copy(log_.tail.data(), all.size());
    file_.string().copy(log_.path.data(), log_.path.size() - 1);
    log_.seen_us = status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000;
  }
  void append(const std::string& text) const { std::ofstream(file_, std::ios::app) << text; }
  /// Sets when the file was written last, in us after the program was last seen alive.
  void change(std::int64_t us) const {
    const std::int64_t at = log_.seen_us + us;
    const timespec time{at / 1'000'000, at % 1'000'000 * 1000};
    const timespec times[]{time, time};
    EXPECT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  }
  std::vector<std::string> rest() const {
    std::ofstream(facts_, std::ios::binary)
        .write(reinterpret_cast<const char*>(&log_), sizeof log_);
    return texts(read_printed_rest(facts_));
  }

  testing::TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_.path() / "train.log";
  std::filesystem::path facts_ = directory_.path() / "output";
  PrintedLog log_{};
};

TEST_F(PrintedLogs, OfADeadProgramAreReadFromTheirFile) {
  EXPECT_THAT(rest(), ElementsAre("0e:of epoch 0\n"));
}

TEST_F(PrintedLogs, HaveLastWordsWhosePlaceIsUnknown) {
  append("the last words");
  change(500'000);
  EXPECT_THAT(rest(), ElementsAre("0e:of epoch 0\n", "-1:the last words"));
}

TEST_F(PrintedLogs, TakeNothingOfAFileThatGrewLater) {
  append("another program's words");
  change(1'500'000);
  EXPECT_THAT(rest(), ElementsAre("0e:of epoch 0\n"));
}

TEST_F(PrintedLogs, OfAnotherTextAreAGap) {
  const std::string gap = "-1:" + std::to_string(kNew.size());
  append("the last words");
  std::filesystem::rename(file_, directory_.path() / "other");
  EXPECT_THAT(rest(), ElementsAre(gap));
  std::filesystem::copy_file(directory_.path() / "other", file_);  // of another number
  EXPECT_THAT(rest(), ElementsAre(gap));
  std::filesystem::rename(directory_.path() / "other", file_);
  std::filesystem::resize_file(file_, 0);
  EXPECT_THAT(rest(), ElementsAre(gap));
  append(std::string(100, 'x'));
  EXPECT_THAT(rest(), ElementsAre(gap));
  log_.tape.failed = 1;  // shared with other programs
  EXPECT_THAT(rest(), ElementsAre(gap));
}

TEST_F(PrintedLogs, AreReadFromRegularFilesAlone) {
  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_THAT(rest(), ElementsAre("-1:" + std::to_string(kNew.size())));
}

TEST(PrintedLogFacts, HaveGapsWhereTheFileWasCut) {
  const auto log = std::make_unique<PrintedLog>();
  PrintedTape& tape = log->tape;
  tape.begin_without_text(1 << 20, Printed::Stream::out);
  tape.came(4, kSecond);
  tape.mark(tape.position, 1, "e", true);
  tape.came(3, kSecond);
  const auto read = [](std::uint64_t from, std::uint64_t to) {
    return std::string(from < 4 ? 0 : to - from, 'x');
  };
  EXPECT_THAT(texts(tape.cut(0, 7, read)), ElementsAre("-1:4", "1e:xxx"));
}

RC_GTEST_PROP(PrintedLogFacts, AreReadWithoutHarm, ()) {
  static const testing::TemporaryDirectory directory;
  const auto facts = directory.path() / "output";
  const auto log = std::make_unique<PrintedLog>();
  log->tape.begin_without_text(1 << 10, Printed::Stream::out);
  log->tape.came(100, kSecond);
  auto* const bytes = reinterpret_cast<char*>(log.get());
  const auto at = *rc::gen::elementOf(std::vector<std::size_t>{
      *rc::gen::inRange<std::size_t>(0, 400),
      *rc::gen::inRange<std::size_t>(sizeof(PrintedTape), sizeof(PrintedLog))});
  bytes[at] = *rc::gen::arbitrary<char>();
  std::ofstream(facts, std::ios::binary).write(bytes, sizeof(PrintedLog));
  std::size_t sum = 0;
  for (const Printed& piece : read_printed_rest(facts)) sum += piece.text.size();
  RC_ASSERT(sum < 1'000'000);
}

}  // namespace
}  // namespace flor::detail::printed_tape_test
