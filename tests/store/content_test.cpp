// The content of files and directories as one digest.
#include "file/content.h"

#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>

namespace flor::store::content_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Contents : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  fs::path path(const std::string& name) const { return directory_.path() / "data" / name; }
  fs::path memory() const { return directory_.path() / "memory"; }
  /// Long after everything was written, as a program mostly reads it.
  static std::int64_t late() { return std::numeric_limits<std::int64_t>::max(); }
  FileContent content(const std::string& name) const {
    return ContentReader(fs::path()).read(path(name)).content;
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(Contents, OfAFileIsThatOfAnItem) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, kChunkBytes, kChunkBytes + 1}) {
    write("a", std::string(size, 'x'));
    const FileContent found = content("a");
    EXPECT_EQ(found.digest.hex(), file_digest(path("a")));
    EXPECT_EQ(found.bytes, size);
    EXPECT_FALSE(found.is_directory);
  }
}

TEST_F(Contents, OfADirectoryIsThatOfNamesFilesAndLinks) {
  write("d/a", "1");
  write("d/b/c", "22");
  fs::create_directory(path("d/empty"));
  const FileContent whole = content("d");
  EXPECT_EQ(whole.bytes, 3);
  EXPECT_EQ(whole.files, 2);
  fs::remove(path("d/empty"));
  EXPECT_EQ(content("d"), whole);
  fs::rename(path("d/a"), path("d/z"));
  EXPECT_NE(content("d").digest, whole.digest);
  fs::rename(path("d/z"), path("d/a"));
  EXPECT_EQ(content("d"), whole);
  write("d/a", "2");
  EXPECT_NE(content("d").digest, whole.digest);
  write("d/a", "1");
  // A link counts as where it leads, and what lies there is not read.
  fs::create_symlink("../outside", path("d/link"));
  const FileContent linked = content("d");
  EXPECT_EQ(linked.files, 3);
  EXPECT_NE(linked.digest, whole.digest);
  write("outside/x", "1");
  EXPECT_EQ(content("d"), linked);
  // The link that is named is followed.
  fs::create_directory_symlink("d", path("named"));
  EXPECT_EQ(content("named"), linked);
}

TEST_F(Contents, AreRememberedUntilSomethingChanges) {
  write("a", std::string(2 << 20, 'x'));
  for (const bool was_read : {true, false, false}) {
    EXPECT_EQ(ContentReader(memory(), late).read(path("a")).was_read, was_read);
  }
  write("a", std::string(2 << 20, 'y'));
  ContentReader reader(memory(), late);
  EXPECT_TRUE(reader.read(path("a")).was_read);
  EXPECT_FALSE(reader.read(path("a")).was_read);
  EXPECT_EQ(reader.read(path("a")).content.digest.hex(), file_digest(path("a")));
}

TEST_F(Contents, ThatWereJustWrittenAreReadAgain) {
  write("a", std::string(2 << 20, 'x'));
  ContentReader reader(memory());
  EXPECT_TRUE(reader.read(path("a")).was_read);
  EXPECT_TRUE(reader.read(path("a")).was_read);
}

TEST_F(Contents, AreReadAgainWhereTheMemoryIsDamagedOrAnother) {
  write("a", std::string(2 << 20, 'x'));
  (void)ContentReader(memory(), late).read(path("a"));
  const fs::path file = fs::directory_iterator(memory())->path();
  std::string text;
  std::getline(std::ifstream(file), text, '\0');
  ASSERT_GT(text.size(), 100u);
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 1);
    for (const std::string& damaged : {other, text.substr(0, at)}) {
      std::ofstream(file, std::ios::trunc) << damaged;
      const auto found = ContentReader(memory(), late).read(path("a"));
      EXPECT_EQ(found.content.digest.hex(), file_digest(path("a"))) << at;
    }
  }
  fs::remove_all(memory());
  write("../memory", "a file");
  EXPECT_TRUE(ContentReader(memory(), late).read(path("a")).was_read);
}

TEST_F(Contents, ThatCannotBeReadAreNamed) {
  const auto refused = [&](const std::string& name) {
    try {
      (void)content(name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("nowhere"), HasSubstr("nowhere"));
  write("d/a", "1");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused("pipe"), HasSubstr("neither a file nor a directory"));
  ASSERT_EQ(::mkfifo(path("d/pipe").c_str(), 0600), 0);
  EXPECT_EQ(content("d").files, 1);
}

}  // namespace
}  // namespace flor::store::content_test
