// Notices of programs: one line each, safe for a terminal whatever a run from elsewhere is called.
#include "base/notice.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

namespace flor::detail {
namespace {

std::string shown(std::string_view line) {
  ::testing::internal::CaptureStderr();
  say(Level::warn, line);
  return ::testing::internal::GetCapturedStderr();
}

TEST(NoticeTest, ShowsWhatWouldActOnATerminal) {
  EXPECT_EQ(shown("run \x1b[31mred\x07 of\r 'a\u009b\u202e\xff'"),
            "flor: run \\x1b[31mred\\x07 of\\x0d 'a\\u{9b}\\u{202e}\\xff'\n");
}

TEST(NoticeTest, KeepsALineAndLettersOfAllLanguages) {
  EXPECT_EQ(shown("größe of 学习率\nis 0.1"), "flor: größe of 学习率 is 0.1\n");
}

}  // namespace
}  // namespace flor::detail
