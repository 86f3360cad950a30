// Printed text in the store: any bytes, in order, seen by no question about values, and forgotten
// as values are.
#include "index/values/printed.h"
#include "store_fixture.h"

namespace flor::store::printed_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PrintedText : public StoreTest {
 protected:
  void print(std::int64_t epoch, std::int64_t number, std::string text) {
    const Value value = value_of({.place = {"epoch", epoch, -1, ""},
                                  .number = number,
                                  .time_us = 1'700'000'000'000'000 + number,
                                  .stream = Printed::Stream::error,
                                  .text = std::move(text)});
    catalog_.add_values(run_.id, std::span(&value, 1));
  }
  void log(std::int64_t epoch) {
    const Value value{.name = "loss", .place = {"epoch", epoch, -1, ""}, .value = 0.5};
    catalog_.add_values(run_.id, std::span(&value, 1));
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const Printed& each : read_printed(catalog_, run_.id)) {
      result.push_back(std::to_string(each.place.epoch) + ":" + each.text);
    }
    return result;
  }

  std::shared_ptr<Store> store_ = open();
  Catalog& catalog_ = store_->catalog();
  const Run run_ = catalog_.add_run(new_run());
};

TEST_F(PrintedText, ComesBackInTheOrderOfPrintingWithEveryByte) {
  const std::string bytes("a\0b \xff\xfe\n", 7);
  print(-1, 9, "the end\n");
  print(1, 8, bytes);
  print(0, 7, " begins and ends with blanks ");
  EXPECT_THAT(texts(),
              ElementsAre("0: begins and ends with blanks ", "1:" + bytes, "-1:the end\n"));
  const auto pieces = read_printed(catalog_, run_.id, 1, 1);
  ASSERT_THAT(pieces, SizeIs(1));
  EXPECT_EQ(pieces[0].time_us, 1'700'000'000'000'008);
  EXPECT_EQ(pieces[0].stream, Printed::Stream::error);
}

TEST_F(PrintedText, HasNoKeysOfKnownForms) {
  const std::string key = "ghp_" + std::string("0123456789abcdefghijABCDEFGHIJ012345");
  print(0, 0, "token " + key + ", again " + key + "; loss 0.5\n");
  EXPECT_THAT(texts(), ElementsAre("0:token ***, again ***; loss 0.5\n"));
}

TEST_F(PrintedText, IsNoMetricAndNoValueUnlessAskedFor) {
  print(0, 0, "text\n");
  log(0);
  EXPECT_THAT(catalog_.values({.run = run_.id}), SizeIs(1));
  const auto metrics = catalog_.metrics(run_.id);
  ASSERT_THAT(metrics, SizeIs(1));
  EXPECT_EQ(metrics[0].name, "loss");
  EXPECT_THAT(catalog_.values({.run = run_.id, .names = {std::string(kPrintedSeries)}}), SizeIs(1));
}

TEST_F(PrintedText, AfterThePointOfAResumeIsForgotten) {
  for (std::int64_t epoch = -1; epoch < 4; ++epoch) print(epoch, epoch + 1, "x");
  log(3);
  Resumption resumption;
  resumption.point.iteration = resumption.point.epoch = 1;
  resumption.point.boundary = true;
  catalog_.resume_run(run_.id, resumption);
  EXPECT_THAT(texts(), ElementsAre("-1:x", "0:x"));
  EXPECT_THAT(catalog_.metrics(run_.id), IsEmpty());
}

}  // namespace
}  // namespace flor::store::printed_text_test
