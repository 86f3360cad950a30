// The arguments of a recorded run, as a replay gives them to the program.
#include "replay/replayed_arguments.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::detail {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ReplayedArgumentsTest : public ::testing::Test {
 protected:
  ReplayedArgumentsTest() {
    store_->catalog().add_argument(run_.id, {.name = "rate", .type = "real", .value = "0.5"});
    store_->catalog().add_argument(
        run_.id, {.name = "api_key", .type = "secret", .value = store::masked_value("api_key", "s3cr3t-5f7a9")});
  }
  ReplayedArguments arguments(const std::map<std::string, std::string>& kwargs = {}) {
    return {store_->catalog(), run_, kwargs};
  }
  flor::testing::TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ =
      store::Store::open(home_.path(), store::OpenMode::create);
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

}  // namespace
}  // namespace flor::detail
