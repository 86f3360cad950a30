// What a replay found waits when it cannot be written, and is written whole.
#include "replay/part_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A store that does not work at first.
class Moody : public Findings {
 public:
  std::string write_object(const store::Item&, std::span<const std::byte>) override { return {}; }
  void add_values(std::int64_t, std::vector<store::Value>) override {}
  void add_complete(std::vector<CompletePart> parts) override {
    ++tries;
    if (!works) throw std::runtime_error("disk full");
    for (const CompletePart& part : parts) {
      written.push_back(part.part.part * 100 + static_cast<std::int64_t>(part.values.size()));
    }
  }
  void add_restore_time(const RestoreTime&) override {}

  bool works = false;
  int tries = 0;
  std::vector<std::int64_t> written;  // 100 times the part, and the number of its values
};

store::ReplayedPart part(std::int64_t number) {
  store::ReplayedPart made;
  made.part = number;
  return made;
}

TEST(PartKeeper, WhatCouldNotBeWrittenWaitsWithAllOfItsValues) {
  Moody findings;
  const auto assignment = fixed_assignment({Epochs{0, 3}}, {});
  PartKeeper keeper(findings, *assignment);
  keeper.hold(0, {});
  keeper.hold(0, {});
  keeper.complete(part(0));
  EXPECT_EQ(findings.tries, 1) << "it is tried, and does not throw";
  keeper.hold(1, {});
  keeper.complete(part(1));
  EXPECT_EQ(findings.tries, 1) << "a pause lies between two tries";
  EXPECT_ANY_THROW(keeper.keep(true)) << "there is no later";
  EXPECT_THAT(findings.written, IsEmpty());
  findings.works = true;
  keeper.keep(true);
  EXPECT_THAT(findings.written, ElementsAre(2, 101));
  keeper.keep(true);
  EXPECT_EQ(findings.written.size(), 2u);
}

}  // namespace
}  // namespace flor::detail
