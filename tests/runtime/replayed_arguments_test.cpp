// The arguments of a recorded run, as a replay gives them to the program.
#include "replay/replayed_arguments.h"

#include "protocol/protocol.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace flor::detail {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ReplayedArgumentsTest : public ::testing::Test {
 protected:
  ReplayedArgumentsTest() {
    store_->catalog().add_argument(run_.id, {.name = "rate", .type = "real", .value = "0.5"});
    store_->catalog().add_argument(run_.id,
                                   {.name = "api_key",
                                    .type = "secret",
                                    .value = store::masked_value("api_key", "s3cr3t-5f7a9")});
  }
  using Texts = std::map<std::string, std::string>;
  ReplayedArguments arguments(const Texts& kwargs = {}, const Texts& instead = {}) {
    return {store_->catalog(), run_, kwargs, instead};
  }
  flor::testing::TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ = store::Store::open(home_.path(), store::OpenMode::create);
  store::Run run_ = store_->catalog().add_run(store::NewRun());
};

TEST_F(ReplayedArgumentsTest, AreThoseOfTheRecord) {
  EXPECT_EQ(arguments().value("rate", Fallback::none), "0.5");
  EXPECT_EQ(arguments().value("unknown", Fallback::none), std::nullopt);
}

TEST_F(ReplayedArgumentsTest, OfSecretsAreAskedForAndNotShown) {
  EXPECT_EQ(arguments({{"api_key", "again"}}).value("api_key", Fallback::none), "again");
  EXPECT_STREQ(arguments().shown("rate"), "0.5");
  EXPECT_EQ(arguments().shown("api_key"), nullptr);
  EXPECT_EQ(arguments().shown("unknown"), nullptr);
  ::unsetenv(store::secret_variable("api_key").c_str());
}

TEST_F(ReplayedArgumentsTest, OfThisProcessAreRefusedUnlessTheyAreSecrets) {
  const auto refused = ThrowsMessage<UsageError>(HasSubstr("cannot be combined with a replay"));
  EXPECT_THAT([] { ReplayedArguments::check({{"rate", "1"}}); }, refused);
  EXPECT_NO_THROW(ReplayedArguments::check({{"api_key", "s3cr3t-5f7a9"}}));
  EXPECT_THAT([&] { arguments({{"other_token", "s3cr3t-5f7a9"}}); }, refused);
}

TEST_F(ReplayedArgumentsTest, MayBeGivenOtherValues) {
  const ReplayedArguments given = arguments({}, {{"rate", "0.25"}, {"unknown", "1"}});
  EXPECT_EQ(given.value("rate", Fallback::none), "0.25");
  EXPECT_STREQ(given.shown("rate"), "0.25");
  EXPECT_EQ(given.value("unknown", Fallback::none), std::nullopt);
}

TEST_F(ReplayedArgumentsTest, ThatMayBeOthersSayWhereOrHowFast) {
  for (const char* name : {"device", "Device", "num-workers", "num_workers", "data_dir", "GPUS"}) {
    EXPECT_TRUE(is_overridable(name, "")) << name;
  }
  for (const char* name : {"rate", "seed", "batch_size", "epochs", "", "devices2"}) {
    EXPECT_FALSE(is_overridable(name, "")) << name;
    EXPECT_FALSE(is_overridable(name, ", ,")) << name;
  }
  EXPECT_TRUE(is_overridable("shard-count", "fold, Shard_Count"));
  EXPECT_FALSE(is_overridable("shard", "fold, shard_count"));
}

TEST_F(ReplayedArgumentsTest, ThatMayDecideResultsSecretsAndUnknownOnesAreNotReplaced) {
  const auto check = [&](const Texts& texts, std::string_view more = "") {
    check_overrides(store_->catalog(), run_, {.threads = {}, .arguments = texts}, more);
  };
  const auto refuses = [](const char* why) { return ThrowsMessage<UsageError>(HasSubstr(why)); };
  EXPECT_THAT(
      [&] {
        check({{"rate", "1"}});
      },
      refuses("may decide the results, so a replay keeps 0.5"));
  EXPECT_NO_THROW(check({{"rate", "1"}}, "rate"));
  EXPECT_THAT([&] { check({{"api_key", "1"}}, "api_key"); }, refuses("is a secret"));
  EXPECT_THAT(
      [&] {
        check({{"rate", "https://ada:hunter2@host/"}}, "rate");
      },
      refuses("the value has a secret"));
  EXPECT_THAT([&] { check({{"device", "cpu"}}); }, refuses("it has rate, api_key"));
  EXPECT_NO_THROW(check({}));
}

TEST(Instead, OfADifferentArgumentIsAnotherQuestion) {
  WorkerOrder plain, other, third;
  other.instead.arguments = {{"device", "cpu"}};
  third.instead.arguments = {{"device", "cpu 1"}, {"data", "/a=b"}};
  std::set<std::string> questions;
  for (const WorkerOrder& order : {plain, other, third}) {
    EXPECT_EQ(WorkerOrder::decode(order.encode()).instead, order.instead);
    EXPECT_TRUE(questions.insert(question_of("digest", {}, order)).second);
  }
  EXPECT_EQ(third.instead.shown_arguments(), "data=/a=b device=cpu 1");
}

TEST(WalkOrder, AndWhatItProvesArriveAsTheyWereSent) {
  const store::CheckpointName name{{.kind = store::CheckpointKind::loop_end,
                                    .main_loop = 1,
                                    .iteration = 7,
                                    .loop = "train ~2\n@begin"},
                                   store::digest_of({})};
  WorkerOrder order;
  order.walk = {.proves = true, .starts = {{0, 0}, {1, 5}}, .returns = {name}};
  const WorkerOrder told = WorkerOrder::decode(order.encode());
  EXPECT_TRUE(told.walk.proves);
  EXPECT_EQ(told.walk.starts, order.walk.starts);
  EXPECT_EQ(told.walk.returns, order.walk.returns);
  EXPECT_FALSE(WorkerOrder::decode(WorkerOrder().encode()).walk.proves);
  const ProvedStates proved{{{"host", "node 7"}, {"cpu", "a\"b"}}, {name, name}};
  const WorkerLine line = WorkerLine::decode(proved.encode());
  EXPECT_EQ(line.kind, WorkerLine::Kind::proved);
  EXPECT_EQ(line.proved.environment, proved.environment);
  EXPECT_EQ(line.proved.checkpoints, proved.checkpoints);
  EXPECT_THROW(WorkerLine::decode("proved {}"), Error);
}

}  // namespace
}  // namespace flor::detail
