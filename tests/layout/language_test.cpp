// The rules of CONTRIBUTING.md for the English of comments, as far as a search finds offences.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Comment {
  std::string place;  ///< "store/src/store.cpp:12"
  std::string text;   ///< consecutive lines joined
};

/// The comments of one file: blocks of whole lines, and those at the ends of lines.
std::vector<Comment> comments_of(std::istream& in, const std::string& path) {
  static const std::regex whole(R"(^\s*//[/!]?<? ?(.*)$)"), trailing(R"(^.*[;,{(] *///?< (.*)$)");
  std::vector<Comment> comments;
  bool continues = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch match;
    const bool is_whole = std::regex_match(line, match, whole);
    if (is_whole && continues) {
      comments.back().text += ' ' + match[1].str();
    } else if (is_whole || std::regex_match(line, match, trailing)) {
      comments.push_back({fmt::format("{}:{}", path, number), match[1]});
    }
    continues = is_whole;
  }
  return comments;
}

std::vector<std::string> offences(const std::vector<Comment>& comments) {
  static const std::regex beginning(R"(^(What|Of|Who|Whoever|That|Somebody|Nobody|Everybody)\b.*)");
  static const std::regex agent(R"(\b([Ss]omebody|[Nn]obody|[Ww]hoever|[Ee]verybody|[Aa]nybody|[Tt]hereof)\b)");
  std::vector<std::string> found;
  for (const auto& [place, text] : comments) {
    if (std::regex_match(text, beginning) || std::regex_search(text, agent)) {
      found.push_back(fmt::format("{}: {}", place, text));
    }
  }
  return found;
}

TEST(Language, AnOffenceWouldBeSeen) {
  std::istringstream in(
      "// What it does.\nint a;  ///< Of the run.\n// Reads rows,\n// and somebody waits.\nint b;\n"
      "// Rows that\n// That is no beginning.\n");
  EXPECT_THAT(offences(comments_of(in, "a.cpp")), SizeIs(3));
}

TEST(Language, CommentsBeginWithANounOrAVerbAndNameWhoActs) {
  std::vector<std::string> found;
  std::size_t comments = 0;
  for (const char* folder : {"store", "runtime", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(FLOR_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream in(entry.path());
      const auto read = comments_of(in, fs::relative(entry.path(), FLOR_SOURCE_DIR).string());
      comments += read.size();
      for (std::string& offence : offences(read)) found.push_back(std::move(offence));
    }
  }
  EXPECT_GT(comments, 3000u);
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace
