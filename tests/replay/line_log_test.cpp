// The log through which `flor replay` and its workers elsewhere speak: what is read is what was
// written, whatever a crash has left of it.
#include "file/line_log.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryDirectory;

class LineLogTest : public ::testing::Test {
 protected:
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "log";
};

TEST_F(LineLogTest, IsReadWhileItGrowsEachLineOnce) {
  LineLogReader reader(path_);
  EXPECT_THAT(reader.read(), IsEmpty());
  EXPECT_TRUE(reader.is_gone());
  LineLogWriter writer(path_, true);
  const std::vector<std::string> two{"one", ""};
  writer.append(two);
  EXPECT_THAT(reader.read(), ElementsAre("one", ""));
  EXPECT_FALSE(reader.is_gone());
  EXPECT_THAT(reader.read(), IsEmpty());
  writer.append(std::string(100'000, 'x') + "\\ \t\xff");
  EXPECT_THAT(reader.read(), ElementsAre(std::string(100'000, 'x') + "\\ \t\xff"));
  EXPECT_THROW(LineLogWriter(path_, true), Error) << "another writer takes another name";
}

TEST_F(LineLogTest, ATornTailIsNoLineUntilTheRestHasCome) {
  {
    LineLogWriter writer(path_, true);
    writer.append("first");
    writer.append("second");
  }
  const std::string whole = content();
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t size = first; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    LineLogReader reader(path_);
    EXPECT_THAT(reader.read(), ElementsAre("first")) << size;
    EXPECT_EQ(reader.is_torn(), size > first) << size;
    put(whole);
    EXPECT_THAT(reader.read(), ElementsAre("second")) << size;
  }
}

TEST_F(LineLogTest, WhoGoesOnWritesOverATornTail) {
  {
    LineLogWriter(path_, true).append("first");
  }
  put(content() + "0123456789abcdef half");
  {
    LineLogWriter(path_, false).append("second");
  }
  LineLogReader reader(path_);
  EXPECT_THAT(reader.read(), ElementsAre("first", "second"));
  EXPECT_FALSE(reader.is_torn());
}

TEST_F(LineLogTest, AByteThatWasChangedEndsItThere) {
  {
    LineLogWriter writer(path_, true);
    for (const char* line : {"alpha", "beta", "gamma"}) writer.append(line);
  }
  const std::string whole = content();
  const std::vector<std::string> lines{"alpha", "beta", "gamma"};
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    put(damaged);
    const auto good = static_cast<std::size_t>(
        std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const auto read = LineLogReader(path_).read();
    EXPECT_EQ(read, std::vector(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(good)))
        << at;
  }
}

TEST_F(LineLogTest, ALineAtAnotherPlaceIsNoLine) {
  {
    LineLogWriter writer(path_, true);
    writer.append("alpha");
    writer.append("beta");
  }
  const std::string whole = content();
  const std::size_t second = whole.find('\n') + 1;
  put(whole.substr(second) + whole.substr(0, second));
  EXPECT_THAT(LineLogReader(path_).read(), IsEmpty());
  put(whole.substr(0, second) + whole.substr(0, second) + whole.substr(second));
  EXPECT_THAT(LineLogReader(path_).read(), ElementsAre("alpha"));
}

}  // namespace
}  // namespace flor::store
