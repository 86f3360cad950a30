// Which files this process writes, whichever way it opens them.
#include "base/written_files.h"
#include "support/temporary_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using detail::notice_written_files;
using detail::take_written_files;
using detail::WrittenFile;

class WrittenFilesTest : public ::testing::Test {
 protected:
  WrittenFilesTest() {
    fs::create_directories(root() / "store");
    for (const char* name : {"old", "read", "touched", "from"}) write(root() / name, "before");
    notice_written_files(root(), root() / "store");
  }
  fs::path root() const { return fs::canonical(directory_.path()) / "root"; }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// Relative to the root, and whether they were there before.
  std::map<std::string, bool> taken() const {
    std::map<std::string, bool> files;
    for (const WrittenFile& file : take_written_files()) {
      files[file.path.lexically_relative(root()).string()] = file.existed;
    }
    return files;
  }

  TemporaryDirectory directory_;
};

TEST_F(WrittenFilesTest, AreNoticedHoweverTheyAreOpened) {
  write(root() / "stream", "1");
  std::fclose(std::fopen((root() / "stdio").c_str(), "w"));
  ::close(::open((root() / "open").c_str(), O_WRONLY | O_CREAT, 0600));
  ::close(::creat((root() / "creat").c_str(), 0600));
  fs::copy_file(root() / "read", root() / "copy");
  const int at = ::open(root().c_str(), O_RDONLY | O_DIRECTORY);
  ::close(::openat(at, "openat", O_WRONLY | O_CREAT, 0600));
  ::close(at);
  std::thread([&] { write(root() / "sub/../thread", "1"); }).join();
  EXPECT_THAT(taken(), ElementsAre(Pair("copy", false), Pair("creat", false), Pair("open", false),
                                   Pair("openat", false), Pair("stdio", false),
                                   Pair("stream", false), Pair("thread", false)));
  struct stat status{};
  ASSERT_EQ(::stat((root() / "open").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u & ~::umask(0)) << "the mode is handed on";
}

TEST_F(WrittenFilesTest, WereThereBeforeOrNotAndComeOnceEach) {
  write(root() / "old", "after");
  write(root() / "new", "after");
  EXPECT_THAT(taken(), ElementsAre(Pair("new", false), Pair("old", true)));
  write(root() / "old", "again and longer");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(WrittenFilesTest, AreThoseWhoseContentChanged) {
  std::ifstream(root() / "read").get();
  std::fclose(std::fopen((root() / "touched").c_str(), "r+"));
  std::ofstream(root() / "gone") << 1;
  fs::remove(root() / "gone");
  write(root() / "store/catalog", "1");
  write(directory_.path() / "beside", "1");
  EXPECT_THAT(taken(), IsEmpty());
  std::ofstream late(root() / "touched", std::ios::app);
  EXPECT_THAT(taken(), IsEmpty()) << "nothing was written yet";
  late << "more" << std::flush;
  EXPECT_THAT(taken(), ElementsAre(Pair("touched", true)));
}

TEST_F(WrittenFilesTest, GetTheirNamesByBeingRenamed) {
  write(root() / "model.tmp", "1");
  fs::rename(root() / "model.tmp", root() / "model");
  EXPECT_EQ(std::rename((root() / "from").c_str(), (root() / "to").c_str()), 0);
  EXPECT_THAT(taken(), ElementsAre(Pair("model", false), Pair("to", false)));
}

std::atomic<int> handled{0};
std::array<char, 4096> in_handler{};

void open_in_handler(int) {
  const int number = handled.fetch_add(1);
  char* const digit = &in_handler[std::strlen(in_handler.data()) - 1];
  *digit = static_cast<char>('0' + number % 10);
  ::close(::open(in_handler.data(), O_WRONLY | O_CREAT | O_APPEND, 0600));
}

/// A handler that waited for what it has interrupted, be it a lock or the allocation of memory,
/// would never return.
TEST_F(WrittenFilesTest, MayBeOpenedInAHandlerOfASignal) {
  const std::string name = (root() / "handler 0").string();
  std::copy(name.begin(), name.end(), in_handler.begin());
  struct sigaction action{}, before{};
  action.sa_handler = open_in_handler;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{.it_interval = {0, 200}, .it_value = {0, 200}}, never{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  std::map<std::string, bool> files;
  for (int i = 0; handled < 1000; ++i) {
    write(root() / "sub" / std::to_string(i % 1000), "1");
    files.merge(taken());
  }
  ASSERT_EQ(::setitimer(ITIMER_REAL, &never, nullptr), 0);
  ASSERT_EQ(::sigaction(SIGALRM, &before, nullptr), 0);
  EXPECT_TRUE(files.contains("sub/0"));
}

TEST_F(WrittenFilesTest, OfAForkedProcessAreItsOwn) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream(root() / "of a child") << 1;
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(root() / "of a child"));
  EXPECT_THAT(taken(), IsEmpty());
}

}  // namespace
}  // namespace flor::testing
