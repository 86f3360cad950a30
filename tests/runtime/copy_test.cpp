// Whatever the size and the alignment of the source, the copy is the source and no more.
#include "snapshot/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace flor::detail {
namespace {

TEST(CopyPastCaches, CopiesEveryByteAndNoOther) {
  constexpr std::size_t kLarge = std::size_t{1} << 19;
  constexpr std::size_t kGuard = 64;
  constexpr std::byte kUntouched{0xA5};
  std::vector<std::byte> source(kLarge + 1024);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 31 >> 3);
  const std::unique_ptr<std::byte, decltype(&std::free)> target(
      static_cast<std::byte*>(std::aligned_alloc(64, kLarge + 1024)), &std::free);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, kLarge / 2 - 1,
        kLarge / 2, kLarge / 2 + 255, kLarge + 77}) {
    for (const std::size_t offset : {0, 1, 63, 64}) {
      std::fill_n(target.get(), bytes + kGuard, kUntouched);
      copy_past_caches(target.get(), source.data() + offset, bytes);
      EXPECT_TRUE(std::equal(target.get(), target.get() + bytes, source.data() + offset)) << bytes;
      EXPECT_EQ(std::count(target.get() + bytes, target.get() + bytes + kGuard, kUntouched),
                static_cast<std::ptrdiff_t>(kGuard))
          << bytes;
    }
  }
}

}  // namespace
}  // namespace flor::detail
