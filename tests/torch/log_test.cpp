// Logging of tensors: what is kept, what is refused, and that nothing is done without a session.
#include "core_double.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <variant>
#include <vector>

namespace log_test {
namespace {

using flor::testing::core;
using flor::testing::LoggedContent;
using flor::testing::LoggedHistogram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Logging : public testing::Test {
 protected:
  Logging() { core() = {}; }
  ~Logging() override { core() = {}; }

  template <typename T>
  static T last() {
    return std::get<T>(core().logged.back().second);
  }
  static std::vector<int> bytes_of(const LoggedContent& logged) {
    std::vector<int> bytes;
    for (const std::byte byte : logged.content) bytes.push_back(std::to_integer<int>(byte));
    return bytes;
  }
};

TEST_F(Logging, OneElementIsLoggedAsItsKindOfNumber) {
  flor::log("x", at::scalar_tensor(1.5F));
  EXPECT_EQ(last<double>(), 1.5);
  flor::log("x", at::full({1, 1}, 7, at::kInt));
  EXPECT_EQ(last<std::int64_t>(), 7);
  flor::log("x", at::scalar_tensor(true, at::kBool));
  EXPECT_EQ(last<bool>(), true);
  flor::log("x", at::scalar_tensor(0.25, at::kBFloat16).requires_grad_());
  EXPECT_EQ(last<double>(), 0.25);
  EXPECT_EQ(core().logged.back().first, "x");
  EXPECT_THAT(core().refused, IsEmpty());
}

TEST_F(Logging, ReturnsTheTensorWhereItStands) {
  const at::Tensor loss = at::scalar_tensor(2.0);
  const at::Tensor& same = flor::log("loss", loss);
  EXPECT_EQ(&same, &loss);
  at::Tensor moved = flor::log("loss", loss * 2);
  EXPECT_EQ(moved.item<double>(), 4);
}

TEST_F(Logging, MoreElementsAreRefusedWithTheirShape) {
  flor::log("loss", at::ones({2, 3}));
  EXPECT_THAT(core().logged, IsEmpty());
  ASSERT_THAT(core().refused, SizeIs(1));
  EXPECT_THAT(core().refused[0], HasSubstr("loss: "));
  EXPECT_THAT(core().refused[0], HasSubstr("[2,3]"));
}

TEST_F(Logging, WhatIsNotANumberIsRefused) {
  flor::log("x", at::Tensor());
  flor::log("x", at::ones({0}));
  flor::log("x", at::scalar_tensor(1, at::kComplexFloat));
  flor::log_tensor("x", at::Tensor());
  flor::log_tensor("x", at::eye(2).to_sparse());
  flor::log_tensor("x", at::quantize_per_tensor(at::ones({2}), 0.1, 0, at::kQInt8));
  flor::log_histogram("x", at::ones({2}, at::kComplexFloat));
  flor::log_table("x", at::ones({3}));
  flor::log_table("x", at::ones({2, 2}), {"only one"});
  flor::log_image("x", at::ones({2, 4, 4}));
  flor::log_image("x", at::ones({4, 4}, at::kInt));
  EXPECT_THAT(core().logged, IsEmpty());
  EXPECT_THAT(core().refused, SizeIs(11));
}

TEST_F(Logging, DoesNothingWithoutASession) {
  core().logging = false;
  flor::log("x", at::ones({2}));
  flor::log_tensor("x", at::Tensor());
  flor::log_histogram("x", at::ones({2}));
  flor::log_image("x", at::ones({2}));
  flor::log_table("x", at::ones({2}));
  EXPECT_THAT(core().logged, IsEmpty());
  EXPECT_THAT(core().refused, IsEmpty());
}

TEST_F(Logging, ATensorIsKeptRowMajor) {
  const at::Tensor tensor = at::arange(6, at::kByte).view({2, 3});
  flor::log_tensor("t", tensor.t());
  const auto logged = last<LoggedContent>();
  EXPECT_FALSE(logged.image);
  EXPECT_EQ(logged.item.type, flor::store::ElementType::u8);
  EXPECT_THAT(logged.item.sizes, ElementsAre(3, 2));
  EXPECT_THAT(bytes_of(logged), ElementsAre(0, 3, 1, 4, 2, 5));
  flor::log_tensor("t", at::ones({2}, at::kBFloat16).requires_grad_());
  EXPECT_EQ(last<LoggedContent>().item.type, flor::store::ElementType::bf16);
}

TEST_F(Logging, AHistogramTakesAnyNumbers) {
  flor::log_histogram("h", at::arange(3, at::kLong), 5);
  EXPECT_THAT(last<LoggedHistogram>().values, ElementsAre(0, 1, 2));
  EXPECT_EQ(last<LoggedHistogram>().bins, 5);
  flor::log_histogram("h", at::ones({2, 2}, at::kHalf).requires_grad_());
  EXPECT_THAT(last<LoggedHistogram>().values, SizeIs(4));
  EXPECT_EQ(last<LoggedHistogram>().bins, 64);
}

TEST_F(Logging, AnImageIsKeptWithItsChannelsLast) {
  at::Tensor image = at::zeros({3, 1, 2});
  image[0][0][0] = 1;
  image[1][0][1] = 0.5;
  image[2][0][1] = 2;  // clamped
  flor::log_image("i", image);
  EXPECT_TRUE(last<LoggedContent>().image);
  EXPECT_THAT(last<LoggedContent>().item.sizes, ElementsAre(1, 2, 3));
  EXPECT_THAT(bytes_of(last<LoggedContent>()), ElementsAre(255, 0, 0, 0, 128, 255));
  flor::log_image("i", at::full({2, 2}, 9, at::kByte));
  EXPECT_THAT(last<LoggedContent>().item.sizes, ElementsAre(2, 2, 1));
  EXPECT_THAT(bytes_of(last<LoggedContent>()), ElementsAre(9, 9, 9, 9));
}

TEST_F(Logging, ATableHasNamesForItsColumns) {
  flor::log_table("confusion", at::arange(6, at::kLong).view({2, 3}));
  EXPECT_THAT(last<flor::Table>().columns, ElementsAre("0", "1", "2"));
  EXPECT_THAT(last<flor::Table>().rows, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  flor::log_table("confusion", at::ones({0, 2}), {"a", "b"});
  EXPECT_THAT(last<flor::Table>().columns, ElementsAre("a", "b"));
  EXPECT_THAT(last<flor::Table>().rows, IsEmpty());
}

}  // namespace
}  // namespace log_test
