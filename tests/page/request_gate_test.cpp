// Which requests are answered and which connections are dropped, without a server.
#include "serve/request_gate.h"

#include "serve/strangers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{10};

Strangers::Time at(int seconds) { return Strangers::Time(std::chrono::seconds(seconds)); }

TEST(Strangers, TheOldestIsDroppedWhereThereAreTooMany) {
  Strangers strangers(2, kPatience);
  for (const Strangers::Id id : {7u, 5u, 9u}) strangers.add(id, at(0));
  EXPECT_THAT(strangers.take_excess(at(0)), ElementsAre(7u));
  EXPECT_EQ(strangers.size(), 2u);
  EXPECT_THAT(strangers.take_excess(at(0)), IsEmpty());
}

TEST(Strangers, HaveTenSecondsInAllHoweverOftenTheySendAByte) {
  Strangers strangers(9, kPatience);
  strangers.add(1, at(0));
  strangers.add(2, at(5));
  EXPECT_THAT(strangers.take_excess(at(9)), IsEmpty());
  EXPECT_THAT(strangers.take_excess(at(10)), ElementsAre(1u));
  EXPECT_THAT(strangers.take_excess(at(20)), ElementsAre(2u));
}

TEST(Strangers, WhoHasShownTheTokenIsNone) {
  Strangers strangers(1, kPatience);
  strangers.add(1, at(0));
  strangers.forget(1);
  strangers.forget(3);
  strangers.add(2, at(0));
  EXPECT_THAT(strangers.take_excess(at(9)), IsEmpty());
}

class GateTest : public ::testing::Test {
 protected:
  RequestHead head(const std::string& rest = "api/runs") const {
    return {.method = "GET", .path = "/" + gate_.token() + "/" + rest, .hosts = {"127.0.0.1:8080"}};
  }
  /// 200 where it is admitted.
  int status(RequestHead head) const {
    const auto verdict = gate_.examine(std::move(head));
    const HttpResponse* refusal = std::get_if<HttpResponse>(&verdict);
    return refusal ? refusal->status : 200;
  }
  RequestGate gate_{8080};
};

TEST_F(GateTest, AdmitsWhatHasTheTokenAndIsForThisServer) {
  EXPECT_EQ(status(head()), 200);
  EXPECT_EQ(std::get<HttpRequest>(gate_.examine(head("a/b"))).path, "a/b");
  RequestHead other = head();
  other.hosts = {"localhost:8080"};
  EXPECT_EQ(status(other), 200);
  other.hosts = {"localhost:8081"};
  EXPECT_EQ(status(other), 421);
}

TEST_F(GateTest, RefusesAHeadThatIsTooLargeWhateverItSays) {
  RequestHead large = head();
  large.bytes = kHeadLimit;
  EXPECT_EQ(status(large), 200);
  ++large.bytes;
  EXPECT_EQ(status(large), 431);
  large.path = "/wrong/";
  EXPECT_EQ(status(large), 431);
}

TEST_F(GateTest, RefusesSeveralHostsAndBodies) {
  RequestHead two = head();
  two.hosts.emplace_back("evil.example");
  EXPECT_EQ(status(two), 400);
  two.hosts[1] = two.hosts[0];
  EXPECT_EQ(status(two), 400);
  RequestHead body = head();
  body.has_body = true;
  EXPECT_EQ(status(body), 413);
}

TEST_F(GateTest, ShowsAPageUnlessOnlyJsonIsAccepted) {
  RequestHead wrong = head();
  wrong.path = "/wrong/";
  const HttpResponse page = std::get<HttpResponse>(gate_.examine(wrong));
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(page.policy, "default-src 'none'");
  EXPECT_THAT(page.body, HasSubstr("flor serve printed"));
  wrong.accept = "application/json";
  EXPECT_THAT(std::get<HttpResponse>(gate_.examine(wrong)).body, HasSubstr("{\"error\":"));
  wrong.accept = "text/html,application/json";
  EXPECT_EQ(std::get<HttpResponse>(gate_.examine(wrong)).type, page.type);
  EXPECT_THAT(refusal_page(404, "<script>&").body, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace flor::cli
