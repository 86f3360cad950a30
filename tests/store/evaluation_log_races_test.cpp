// Logs of evaluations that are joined while others read, write or join them, and by processes that
// are killed: whatever comes between which two steps, no word on an evaluation is lost.
#include "database/store_impl.h"
#include "index/refresh.h"
#include "journal/evaluation_log.h"
#include "store_fixture.h"
#include "support/syscall_tracer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::store::evaluation_log_races_test {
namespace {

using flor::testing::SharedCounter;
using flor::testing::SyscallTracer;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

/// Just enough that they are joined.
constexpr int kLogs = static_cast<int>(kEvaluationLogsMax) + 2;

/// Does something else, as a whole, before one of its calls, or after one that has opened a file.
class Interrupted : public Filesystem {
 public:
  Interrupted(int at, std::function<void()> other) : left_(at), other_(std::move(other)) {}
  bool is_done() const { return !other_; }

  int open(const char* path, int flags, mode_t mode) override {
    count();
    const int descriptor = Filesystem::open(path, flags, mode);
    if (descriptor >= 0) count();  // and locks are taken next
    return descriptor;
  }
  int close(int descriptor) override {
    count();
    return Filesystem::close(descriptor);
  }
  ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) override {
    count();
    return Filesystem::pread(descriptor, bytes, size, offset);
  }
  ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) override {
    count();
    return Filesystem::pwrite(descriptor, bytes, size, offset);
  }
  int fdatasync(int descriptor) override {
    count();
    return Filesystem::fdatasync(descriptor);
  }
  int fsync(int descriptor) override {
    count();
    return Filesystem::fsync(descriptor);
  }
  int unlink(const char* path) override {
    count();
    return Filesystem::unlink(path);
  }

 private:
  void count() {
    if (--left_ == 0) std::exchange(other_, {})();
  }
  int left_;
  std::function<void()> other_;
};

class EvaluationLogRacesTest : public StoreTest {
 protected:
  fs::path fast_home() const { return memory_ / "home"; }
  Paths paths() const { return Paths{fast_home()}; }

  static EvaluationEvent event(int number) {
    EvaluationEvent event;
    event.at_us = event.finished_us = 1'700'000'000'000'000 + number;
    event.content = digest_of(std::as_bytes(std::span(&number, 1)));
    event.spec = "eval.py:accuracy";
    event.digest = "00ff";
    event.end = EvaluationEnd::done;
    event.text = std::to_string(number);
    return event;
  }

  /// As a process that judges does it.
  static void say(EvaluationLog& log, int number) {
    log.append(event(number));
    log.flush();
    log.keep();
    log.sync();
  }

  /// Evaluations 0, 1, ... of processes that have ended, one each.
  void begin_anew() const {
    fs::remove_all(fast_home());
    Store::open(fast_home(), OpenMode::create);
    for (int i = 0; i < kLogs; ++i) {
      EvaluationLog log(Filesystem::system(), paths());
      say(log, i);
    }
  }

  static std::vector<int> sorted(std::vector<int> numbers) {
    std::ranges::sort(numbers);
    return numbers;
  }

  static std::vector<int> upto(int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return numbers;
  }

  /// What all logs say, read by way of `files`.
  std::vector<int> read(Filesystem& files = Filesystem::system()) const {
    std::vector<std::string> damage;
    std::vector<int> numbers;
    LogPositions all;
    for (const EvaluationEvent& each : read_evaluations(files, paths(), all, damage)) {
      numbers.push_back(std::stoi(each.text));
    }
    EXPECT_THAT(damage, IsEmpty());
    return sorted(numbers);
  }

  void join(Filesystem& files = Filesystem::system()) const {
    join_evaluation_logs(files, paths());
  }

  /// `one`, with `other` between two of its steps, at every `stride_`-th place.
  void interleave(const char* what, const std::function<void(Filesystem&)>& one,
                  const std::function<void()>& other, int count = kLogs) {
    int places = 0;
    for (int at = 1;; at += stride_, ++places) {
      ASSERT_LT(at, 2000);
      SCOPED_TRACE(std::string(what) + ", at place " + std::to_string(at));
      begin_anew();
      Interrupted files(at, other);
      one(files);
      if (!files.is_done()) break;
      EXPECT_EQ(read(), upto(count));
      if (HasFailure()) return;
    }
    std::printf("%s: at %d places, nothing lost\n", what, places);
    EXPECT_GT(places, 5);
  }

  void read_while_they_are_joined() {
    const auto reads_all = [&](Filesystem& files) { EXPECT_EQ(read(files), upto(kLogs)); };
    interleave("reading, and joining within", reads_all, [&] { join(); });
    interleave(
        "joining, and reading within", [&](Filesystem& files) { join(files); },
        [&] { reads_all(Filesystem::system()); });
  }

  void write_while_they_are_joined() {
    const auto write = [&](Filesystem& files) {
      EvaluationLog log(files, paths());
      say(log, kLogs);
      say(log, kLogs + 1);
    };
    interleave(
        "joining, and writing within", [&](Filesystem& files) { join(files); },
        [&] { write(Filesystem::system()); }, kLogs + 2);
    stride_ = 1;  // of a few
    interleave(
        "writing, and joining within", write, [&] { join(); }, kLogs + 2);
  }

  void join_while_they_are_joined() {
    interleave(
        "joining, and joining within", [&](Filesystem& files) { join(files); }, [&] { join(); });
  }

  /// Where the home cannot take an index, one is made elsewhere by any number of processes.
  void make_an_index_while_they_are_joined() {
    interleave(
        "an index, and joining within",
        [&](Filesystem& files) {
          const IndexElsewhere index(paths(), files);
          EXPECT_THAT(index.report().damage, IsEmpty());
          Connection connection(index.paths().catalog(), Connection::Mode::existing);
          const auto row = connection("SELECT count(*) FROM job WHERE state = 3");
          ASSERT_TRUE(row->step());
          EXPECT_EQ(row->integer(0), kLogs);
        },
        [&] { join(); });
  }

  int stride_ = 17;
  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
};

TEST_F(EvaluationLogRacesTest, ReadingWhileTheyAreJoined) { read_while_they_are_joined(); }
TEST_F(EvaluationLogRacesTest, WritingWhileTheyAreJoined) { write_while_they_are_joined(); }
TEST_F(EvaluationLogRacesTest, JoiningWhileTheyAreJoined) { join_while_they_are_joined(); }
TEST_F(EvaluationLogRacesTest, AnIndexIsMadeElsewhereWhileTheyAreJoined) {
  make_an_index_while_they_are_joined();
}

class EvaluationLogRacesOftenTest : public EvaluationLogRacesTest {
 protected:
  EvaluationLogRacesOftenTest() { stride_ = 1; }
};
TEST_F(EvaluationLogRacesOftenTest, ReadingWhileTheyAreJoined) { read_while_they_are_joined(); }
TEST_F(EvaluationLogRacesOftenTest, WritingWhileTheyAreJoined) { write_while_they_are_joined(); }
TEST_F(EvaluationLogRacesOftenTest, JoiningWhileTheyAreJoined) { join_while_they_are_joined(); }
TEST_F(EvaluationLogRacesOftenTest, AnIndexIsMadeElsewhereWhileTheyAreJoined) {
  make_an_index_while_they_are_joined();
}

class EvaluationLogKillTest : public EvaluationLogRacesTest {
 protected:
  /// At each `stride`-th stop of `body`, in a process of its own.
  void kill_everywhere(int stride, const std::function<void()>& body,
                       const std::function<void()>& expect) {
    int points = 0;
    for (int stop = 1;; stop += stride, ++points) {
      ASSERT_LT(stop, 20'000);
      begin_anew();
      reported_.set(0);
      const auto result = SyscallTracer::run([] {}, body, stop);
      if (result.refused) GTEST_SKIP() << "this system does not let a process trace its child";
      SCOPED_TRACE("killed at stop " + std::to_string(stop) + ", system call " +
                   std::to_string(result.call));
      expect();
      if (HasFailure()) return;
      if (!result.finished) continue;
      ASSERT_EQ(result.status, 0);
      break;
    }
    std::printf("killed at %d points: nothing lost\n", points);
    EXPECT_GT(points, 5);
  }

  void kill_a_process_that_joins(int stride) {
    kill_everywhere(
        stride, [&] { join(); },
        [&] {
          EXPECT_EQ(read(), upto(kLogs));
          join();
          EXPECT_EQ(read(), upto(kLogs));
          EXPECT_LE(find_evaluation_logs(paths()).size(), kEvaluationLogsMax);
        });
  }

  void kill_a_process_that_writes(int stride) {
    kill_everywhere(
        stride,
        [&] {
          EvaluationLog log(Filesystem::system(), paths());
          for (int i = 0; i < 3; ++i) {
            say(log, kLogs + i);
            reported_.set(i + 1);
          }
        },
        [&] {
          const std::vector<int> before = read();
          join();
          EXPECT_EQ(read(), before);
          EXPECT_GE(before.size(), static_cast<std::size_t>(kLogs + reported_.get()));
        });
  }

  SharedCounter reported_;
};

TEST_F(EvaluationLogKillTest, AProcessThatJoins) { kill_a_process_that_joins(11); }
TEST_F(EvaluationLogKillTest, AProcessThatWrites) { kill_a_process_that_writes(3); }

class EvaluationLogKillOftenTest : public EvaluationLogKillTest {};
TEST_F(EvaluationLogKillOftenTest, AProcessThatJoins) { kill_a_process_that_joins(1); }
TEST_F(EvaluationLogKillOftenTest, AProcessThatWrites) { kill_a_process_that_writes(1); }

}  // namespace
}  // namespace flor::store::evaluation_log_races_test
