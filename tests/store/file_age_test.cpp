// The age of files under clocks and times of files that are far off.
#include "file/file_age.h"
#include "support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;

class FileAge : public ::testing::Test {
 protected:
  FileAge() { std::ofstream(file_) << "x"; }
  /// Returns false where the file system has no such time.
  bool set(system_clock::time_point time) {
    const auto wanted = fs::file_time_type::clock::from_sys(time);
    fs::last_write_time(file_, wanted);
    return fs::last_write_time(file_) - wanted < seconds(1) &&
           wanted - fs::last_write_time(file_) < seconds(1);
  }
  flor::testing::TemporaryDirectory directory_;
  fs::path file_ = directory_.path() / "file";
};

TEST_F(FileAge, IsThatOfTheLastChange) {
  EXPECT_FALSE(was_changed_before(file_, file_time_ago(hours(1))));
  ASSERT_TRUE(set(system_clock::now() - hours(2)));
  EXPECT_TRUE(was_changed_before(file_, file_time_ago(hours(1))));
  EXPECT_FALSE(was_changed_before(file_, file_time_ago(hours(3))));
  EXPECT_FALSE(was_changed_before(directory_.path() / "absent", file_time_ago(seconds(0))));
}

// Years 1700 to 2240: the clock is 1700's, or the file is the future's, and nothing is old.
TEST_F(FileAge, OfNoFileIsGreatWhereClocksAreFarOff) {
  const auto year = [](int n) { return system_clock::time_point(hours(24 * 365) * (n - 1970)); };
  for (const int written : {1970, 2020, 2100, 2240}) {
    if (!set(year(written))) continue;
    for (const int clock : {1700, 1868, 1900, 1969, 1970, 2000, 2100, 2240}) {
      const bool older = clock > written;
      EXPECT_EQ(was_changed_before(file_, file_time_ago(hours(24), year(clock))), older)
          << written << " " << clock;
    }
  }
}

}  // namespace
}  // namespace flor::store
