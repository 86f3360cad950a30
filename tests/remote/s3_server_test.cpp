// Against a real S3 server, whose endpoint FLOR_TEST_S3 names (scripts/test.sh --s3 starts one):
// what an object store promises, faults on the way, and runs that go there and come back.
#include "http_proxy.h"
#include "remote/objects/s3/s3_objects.h"
#include "remote_fixture.h"
#include "support/process.h"

#include <flor/store/error.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

namespace flor::remote {
namespace {

using testing::Fault;
using ::testing::HasSubstr;
using testing::HttpProxy;

std::vector<std::byte> text(std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

class S3ServerTest : public RemoteTest {
 protected:
  void SetUp() override {
    const char* endpoint = std::getenv("FLOR_TEST_S3");
    if (!endpoint) GTEST_SKIP() << "no S3 server: scripts/test.sh --s3 starts one";
    endpoint_ = endpoint;
    const auto made = tool({"rclone", "mkdir", "flor:" + bucket()});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  void TearDown() override {
    if (!endpoint_.empty()) tool({"rclone", "purge", "flor:" + bucket()});
  }

  /// Of this test alone.
  std::string bucket() const {
    const std::string name = directory_.path().filename().string();
    std::string bucket = "t-";
    for (const char c : name) {
      if (std::isalnum(static_cast<unsigned char>(c))) {
        bucket += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    return bucket;
  }
  S3Settings settings() const {
    return {{"FLORKEY", "florsecret123", ""}, "us-east-1", endpoint_, "", true};
  }
  S3Settings through(const HttpProxy& proxy) const {
    S3Settings settings = this->settings();
    settings.endpoint = fmt::format("http://127.0.0.1:{}", proxy.port());
    return settings;
  }
  int server_port() const { return std::atoi(endpoint_.substr(endpoint_.rfind(':') + 1).c_str()); }
  static S3Limits quick() {
    S3Limits limits;
    limits.first_pause = std::chrono::milliseconds(5);
    limits.longest_pause = std::chrono::milliseconds(50);
    return limits;
  }
  std::unique_ptr<ObjectStore> s3(const S3Settings& settings,
                                  const S3Limits& limits = quick()) const {
    return open_s3({bucket(), "runs of/mine/"}, settings, limits);
  }
  std::unique_ptr<ObjectStore> s3() const { return s3(settings()); }
  std::string url() const { return fmt::format("s3://{}/runs of/mine", bucket()); }

  /// Another client of the same server, or flor itself.
  testing::ProcessOptions environment() const {
    testing::ProcessOptions options;
    options.environment = {{"AWS_ACCESS_KEY_ID", "FLORKEY"},
                           {"AWS_SECRET_ACCESS_KEY", "florsecret123"},
                           {"AWS_ENDPOINT_URL", endpoint_},
                           {"AWS_REGION", "us-east-1"},
                           {"AWS_CA_BUNDLE", std::nullopt},
                           {"AWS_PROFILE", std::nullopt},
                           {"AWS_SESSION_TOKEN", std::nullopt},
                           {"HOME", directory_.path().string()},
                           {"RCLONE_CONFIG_FLOR_TYPE", "s3"},
                           {"RCLONE_CONFIG_FLOR_PROVIDER", "Ceph"},
                           {"RCLONE_CONFIG_FLOR_ENDPOINT", endpoint_},
                           {"RCLONE_CONFIG_FLOR_ACCESS_KEY_ID", "FLORKEY"},
                           {"RCLONE_CONFIG_FLOR_SECRET_ACCESS_KEY", "florsecret123"}};
    return options;
  }
  testing::ProcessResult tool(std::vector<std::string> command) const {
    return testing::run_process(std::move(command), environment());
  }
  testing::ProcessResult flor(std::vector<std::string> arguments,
                              const std::string& home = "home") {
    arguments.insert(arguments.begin(), {FLOR_CLI, "--home", (directory_ / home).string()});
    return tool(std::move(arguments));
  }

  std::string endpoint_;
};

TEST_F(S3ServerTest, ObjectsAreKeptAsTheInterfacePromises) {
  const auto store = s3();
  EXPECT_TRUE(store->put_if_absent("a/1", text("hello")));
  EXPECT_FALSE(store->put_if_absent("a/1", text("other")));
  EXPECT_EQ(store->get("a/1", kMuch), text("hello"));
  EXPECT_EQ(store->get_range("a/1", 1, 3), text("ell"));
  EXPECT_THROW(store->get_range("a/1", 3, 9), Damaged);
  EXPECT_EQ(store->head("a/1")->bytes, 5U);
  EXPECT_NEAR(static_cast<double>(store->head("a/1")->modified_us),
              static_cast<double>(std::time(nullptr)) * 1e6, 120e6);
  store->put("a/1", text("new"));
  EXPECT_EQ(store->get("a/1", kMuch), text("new"));
  EXPECT_TRUE(store->put_if_absent("b", {}));
  EXPECT_EQ(store->get("b", kMuch), text(""));
  EXPECT_FALSE(store->head("c"));
  EXPECT_THROW(store->get("c", kMuch), NotFound);
  ASSERT_EQ(store->list("").size(), 2U);
  EXPECT_EQ(store->list("a/").at(0).key, "a/1");
  EXPECT_EQ(store->list("a/").at(0).bytes, 3U);
  store->remove("a/1");
  store->remove("a/1");
  EXPECT_EQ(store->list("").size(), 1U);
}

TEST_F(S3ServerTest, AnotherClientReadsTheSameBytes) {
  const auto content = store::random_bytes(1, 3'000'000);
  s3()->put_if_absent("parcels/x", content);
  const auto listed = tool({"rclone", "cat", "flor:" + bucket() + "/runs of/mine/parcels/x"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_EQ(text(listed.out), content);
}

TEST_F(S3ServerTest, AListGoesOverManyPages) {
  const auto store = s3();
  constexpr int kObjects = 1100;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kObjects; i += 4) store->put(fmt::format("n/{:04}", i), text("x"));
    });
  }
  threads.clear();
  EXPECT_EQ(store->list("n/").size(), static_cast<std::size_t>(kObjects));
}

TEST_F(S3ServerTest, LargeObjectsGoInPartsAndOfKilledOnesNothingStays) {
  S3Limits limits = quick();
  limits.multipart_bytes = 6 << 20;
  limits.part_bytes = 5 << 20;
  const auto content = store::random_bytes(1, 17 << 20);
  EXPECT_TRUE(s3(settings(), limits)->put_if_absent("large", content));
  EXPECT_FALSE(s3(settings(), limits)->put_if_absent("large", content));
  EXPECT_EQ(s3()->get("large", kMuch), content);
  // The third part is refused for good.
  HttpProxy proxy(server_port());
  proxy.plan([](std::string_view head, int) {
    return head.find("partNumber=3") != head.npos || head.starts_with("DELETE") ? Fault::unavailable
                                                                                : Fault::none;
  });
  S3Settings twice = through(proxy);
  twice.attempts = 2;
  EXPECT_THROW(s3(twice, limits)->put("catalogs/second", content), Unreachable);
  EXPECT_FALSE(s3()->head("catalogs/second"));
  EXPECT_EQ(s3()->remove_unfinished(INT64_MAX, true), 1);
  EXPECT_EQ(s3()->remove_unfinished(0, false), 0);
  EXPECT_EQ(s3()->remove_unfinished(INT64_MAX, false), 1);
  EXPECT_EQ(s3()->remove_unfinished(INT64_MAX, false), 0);
}

TEST_F(S3ServerTest, FaultsThatPassAreNotNoticed) {
  for (const Fault fault : {Fault::unavailable, Fault::reset, Fault::reset_answer,
                            Fault::cut_answer, Fault::corrupt_request}) {
    HttpProxy proxy(server_port());
    // Two of three requests.
    proxy.plan([&](std::string_view head, int number) {
      const bool has_body = fault != Fault::corrupt_request || head.starts_with("PUT");
      return number % 3 != 2 && has_body ? fault : Fault::none;
    });
    const auto store = s3(through(proxy));
    const std::string key = fmt::format("fault/{}", static_cast<int>(fault));
    const auto content = store::random_bytes(static_cast<unsigned>(fault), 200'000);
    // Also where the answer was lost and the second attempt finds what the first has made.
    EXPECT_TRUE(store->put_if_absent(key, content)) << key;
    EXPECT_FALSE(store->put_if_absent(key, text("other"))) << key;
    EXPECT_EQ(store->get(key, kMuch), content) << key;
    EXPECT_EQ(store->get_range(key, 1000, 5000).size(), 5000U);
    EXPECT_EQ(store->list("fault/").empty(), false);
    EXPECT_GT(proxy.requests(), 5);
  }
}

TEST_F(S3ServerTest, AServerWithoutConditionalWritesIsAskedFirst) {
  HttpProxy proxy(server_port());
  proxy.plan([](std::string_view head, int) {
    return head.find("if-none-match") != head.npos ? Fault::not_implemented : Fault::none;
  });
  const auto store = s3(through(proxy));
  EXPECT_FALSE(store->makes_exclusively());
  EXPECT_TRUE(store->put_if_absent("a", text("1")));
  EXPECT_FALSE(store->put_if_absent("a", text("2")));
  EXPECT_EQ(store->get("a", kMuch), text("1"));
  const Run run = finished_run(*open(), 1, 2);
  spool(*open(), run, *store);
  EXPECT_THAT(damage_of(*store), ::testing::IsEmpty());
}

TEST_F(S3ServerTest, AServerThatDoesNotHeedTheConditionIsFoundOut) {
  HttpProxy proxy(server_port());
  proxy.plan([](std::string_view head, int) {
    return head.find("if-none-match") != head.npos && head.find("/probe ") != head.npos
               ? Fault::pretended
               : Fault::none;
  });
  EXPECT_TRUE(s3()->makes_exclusively());
  EXPECT_TRUE(s3()->makes_exclusively());  // the object is there now
  EXPECT_FALSE(s3(through(proxy))->makes_exclusively());
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto store = s3(through(proxy));
  spool(*here, run, *store);
  // Manifests have names of their own then, which nobody else replaces.
  const auto manifests = store->list("runs/");
  ASSERT_EQ(manifests.size(), 1U);
  EXPECT_THAT(manifests[0].key, ::testing::MatchesRegex("runs/[0-9a-f]+/00000001-[0-9a-f]+.json"));
  EXPECT_FALSE(spool(*here, run, *s3()).changed);
  EXPECT_THAT(damage_of(*s3()), ::testing::IsEmpty());
}

TEST_F(S3ServerTest, WhatAServerSendsIsBounded) {
  HttpProxy proxy(server_port());
  S3Settings once = through(proxy);
  once.attempts = 1;
  const auto fails_with = [&](Fault fault) -> std::string {
    proxy.plan([fault](std::string_view, int) { return fault; });
    try {
      s3(once)->get("x", 1000);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  s3()->put("x", store::random_bytes(1, 1001));
  EXPECT_THAT(fails_with(Fault::none), HasSubstr("larger than it may be"));
  EXPECT_THAT(fails_with(Fault::endless), HasSubstr("larger than it may be"));
  EXPECT_NE(fails_with(Fault::endless_headers), "");
  EXPECT_THAT(fails_with(Fault::elsewhere), HasSubstr("AWS_ENDPOINT_URL"));
  proxy.plan([](std::string_view, int) { return Fault::endless; });
  EXPECT_THROW(s3(once)->list(""), Error);
}

TEST_F(S3ServerTest, OverHttpsOnlyACertificateOfATrustedAuthorityIsTaken) {
  const char* ca = std::getenv("FLOR_TEST_S3_CA");
  if (!ca) GTEST_SKIP() << "FLOR_TEST_S3_CA names no authority";
  S3Settings secure = settings();
  secure.endpoint = fmt::format("https://localhost:{}", server_port() + 41);
  secure.ca_bundle = ca;
  EXPECT_TRUE(s3(secure)->put_if_absent("a", store::random_bytes(1, 300'000)));
  EXPECT_EQ(s3()->get("a", kMuch).size(), 300'000U);
  const auto fails = [&](const std::string& bundle, const std::string& host) -> std::string {
    S3Settings wrong = secure;
    wrong.ca_bundle = bundle;
    wrong.endpoint = fmt::format("https://{}:{}", host, server_port() + 41);
    const auto began = std::chrono::steady_clock::now();
    try {
      s3(wrong)->head("a");
    } catch (const Unreachable& error) {
      ADD_FAILURE() << "it does not pass: " << error.what();
    } catch (const Error& error) {
      EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(fails("", "localhost"), HasSubstr("AWS_CA_BUNDLE"));
  EXPECT_THAT(fails("/nowhere/ca.pem", "localhost"), HasSubstr("/nowhere/ca.pem"));
  std::ofstream(directory_ / "text.pem") << "no certificate";
  EXPECT_THAT(fails((directory_ / "text.pem").string(), "localhost"), HasSubstr("AWS_CA_BUNDLE"));
  // A name that the certificate does not have.
  EXPECT_THAT(fails(ca, "two.labels.localhost"), HasSubstr("AWS_CA_BUNDLE"));
  auto options = environment();
  options.environment["AWS_ENDPOINT_URL"] = secure.endpoint;
  options.environment["AWS_CA_BUNDLE"] = ca;
  finished_run(*open(), 1, 1);
  const std::vector<std::string> command = {FLOR_CLI, "--home", (directory_ / "home").string(),
                                            "spool",  "linear", url()};
  EXPECT_EQ(testing::run_process(command, options).status, 0);
}

TEST_F(S3ServerTest, KeysOfAnyCharactersAreTheSameWithTheBucketInThePathAndInTheHost) {
  int number = 0;
  for (const std::string prefix : {"plain", "two words/x", "per%20cent%", "a+b=c&d?e#f",
                                   "gr\u00fc\u00df/\u65e5\u672c", "~(')!*;:@$,"}) {
    SCOPED_TRACE(prefix);
    const S3Place place = parse_s3_url(fmt::format("s3://{}/{}", bucket(), prefix));
    S3Settings in_host = settings();
    in_host.path_style = false;
    in_host.endpoint = fmt::format("http://localhost:{}", server_port());
    const auto by_path = open_s3(place, settings(), quick());
    const auto by_host = open_s3(place, in_host, quick());
    const std::string key = fmt::format("runs/{}", number++);
    EXPECT_TRUE(by_path->put_if_absent(key, text(prefix)));
    EXPECT_EQ(by_host->get(key, kMuch), text(prefix));
    EXPECT_EQ(by_host->get_range(key, 1, 3), text(std::string_view(prefix).substr(1, 3)));
    for (const auto* store : {&by_path, &by_host}) {
      const auto listed = (*store)->list("runs/");
      ASSERT_EQ(listed.size(), 1U);
      EXPECT_EQ(listed[0].key, key);
    }
    const auto seen = tool({"rclone", "cat", fmt::format("flor:{}/{}/{}", bucket(), prefix, key)});
    EXPECT_EQ(seen.out, prefix) << seen.err;
    by_host->remove(key);
    EXPECT_FALSE(by_path->head(key));
  }
}

TEST_F(S3ServerTest, AKeyThatXmlCannotHoldDoesNotHideTheOthers) {
  s3()->put("runs/a", text("1"));
  s3()->put("runs/b\x01\x0b+ %", text("2"));
  const auto listed = s3()->list("runs/");
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[1].key, "runs/b\x01\x0b+ %");
}

TEST_F(S3ServerTest, AWatchGoesOnAfterTroubleThatPassesAndSaysSoOnce) {
  HttpProxy proxy(server_port());
  std::atomic<bool> away{true};
  proxy.plan([&](std::string_view, int) { return away ? Fault::reset : Fault::none; });
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  auto options = environment();
  options.environment["AWS_ENDPOINT_URL"] = fmt::format("http://127.0.0.1:{}", proxy.port());
  options.environment["AWS_MAX_ATTEMPTS"] = "1";
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::seconds(7));
    away = false;
  });
  const auto watched = testing::run_process(
      {FLOR_CLI, "--home", (directory_ / "home").string(), "spool", run.key, url(), "--follow"},
      options);
  EXPECT_EQ(watched.status, 0) << watched.err;
  EXPECT_THAT(watched.err, HasSubstr("trying again"));
  EXPECT_EQ(watched.err.find("trying again"), watched.err.rfind("trying again"));
  EXPECT_THAT(watched.err, HasSubstr("goes on"));
  EXPECT_THAT(damage_of(*s3()), ::testing::IsEmpty());
  // What cannot pass ends it.
  options = environment();
  options.environment["AWS_SECRET_ACCESS_KEY"] = "wrongsecret";
  const auto refused = testing::run_process(
      {FLOR_CLI, "--home", (directory_ / "home").string(), "spool", run.key, url(), "--follow"},
      options);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(refused.err + refused.out, ::testing::Not(HasSubstr("wrongsecret")));
}

TEST_F(S3ServerTest, RunsThatShareContentAreSpooledByManyProcessesAtOnceThroughFaults) {
  const auto here = open();
  std::vector<Run> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(finished_run(*here, 1, 3 + i));
  HttpProxy proxy(server_port());
  proxy.plan([](std::string_view, int number) {
    constexpr std::array kFaults = {Fault::unavailable, Fault::reset, Fault::reset_answer};
    return number % 4 == 0 ? kFaults[static_cast<std::size_t>(number / 4) % 3] : Fault::none;
  });
  auto options = environment();
  options.environment["AWS_ENDPOINT_URL"] = fmt::format("http://127.0.0.1:{}", proxy.port());
  std::vector<std::unique_ptr<testing::Process>> processes;
  for (std::size_t i = 0; i < 6; ++i) {
    processes.push_back(std::make_unique<testing::Process>(
        std::vector<std::string>{FLOR_CLI, "--home", (directory_ / "home").string(), "spool",
                                 runs[i % runs.size()].key, url()},
        options));
  }
  for (const auto& process : processes) EXPECT_EQ(process->wait().status, 0);
  EXPECT_EQ(list_runs(*s3()).runs.size(), 3U);
  EXPECT_THAT(damage_of(*s3()), ::testing::IsEmpty());
}

TEST_F(S3ServerTest, FaultsThatStayAreOneLineThatSaysWhatToDo) {
  const auto fails = [&](S3Settings settings) -> std::string {
    settings.attempts = 2;
    try {
      s3(settings)->put_if_absent("x", text("x"));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("secret123")));
      return error.what();
    }
    return "";
  };
  S3Settings wrong = settings();
  wrong.credentials.secret = "not it";
  EXPECT_THAT(fails(wrong), HasSubstr("AWS_SECRET_ACCESS_KEY"));
  wrong = settings();
  wrong.credentials.key = "NOBODY";
  EXPECT_THAT(fails(wrong), HasSubstr("InvalidAccessKeyId"));
  wrong = settings();
  wrong.endpoint = "http://127.0.0.1:1";
  EXPECT_THAT(fails(wrong), HasSubstr("does not answer"));
  S3Limits skewed = quick();
  skewed.clock_offset_us = std::int64_t{-3600} * 1'000'000;
  try {
    s3(settings(), skewed)->put_if_absent("x", text("x"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("clock"));
  }
  EXPECT_THROW(open_s3({"no-such-bucket", ""}, settings(), quick())->list(""), NotFound);
  EXPECT_FALSE(s3()->head("x"));
}

TEST_F(S3ServerTest, ARunGoesThereAndComesBackBitForBit) {
  const Run run = finished_run(*open(), 1, 8);
  const auto store = s3();
  const SpoolReport sent = spool(*open(), run, *store);
  EXPECT_EQ(sent.chunks_sent, sent.chunks);
  const SpoolReport again = spool(*open(), run, *store);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.bytes_sent, 0U);
  const auto there = open("other");
  fetch(*there, *store, run.key, 3, 3);
  expect_boundaries(*there, run.key, 1, 3, 4);
  fetch(*there, *store, run.key);
  expect_boundaries(*there, run.key, 1, 0, 8);
  EXPECT_EQ(store::damage(*there), "");
  EXPECT_THAT(damage_of(*store), ::testing::IsEmpty());
  // What came back gives the same objects as what was recorded.
  EXPECT_FALSE(spool(*there, there->catalog().resolve(run.key), *store).changed);
}

TEST_F(S3ServerTest, DamagedObjectsAreFoundAndNotTakenOver) {
  const Run run = finished_run(*open(), 1, 3);
  const auto store = s3();
  spool(*open(), run, *store);
  HttpProxy proxy(server_port());
  proxy.plan([](std::string_view head, int) {
    return head.starts_with("GET") && head.find("parcels/") != head.npos &&
                   head.find("list-type") == head.npos
               ? Fault::corrupt_answer
               : Fault::none;
  });
  const auto damaged = s3(through(proxy));
  EXPECT_FALSE(damage_of(*damaged).empty());
  const auto there = open("other");
  EXPECT_THROW(fetch(*there, *damaged, run.key), Damaged);
  EXPECT_THROW(there->catalog().resolve(run.key), NotFound);
  fetch(*there, *store, run.key);
  expect_boundaries(*there, run.key, 1, 0, 3);
}

TEST_F(S3ServerTest, KilledAtRandomInstantsAnUploadShowsNothingHalfAndGoesOn) {
  const Run run = finished_run(*open(), 1, 30);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(flor({"spool", run.key, url()}).status, 0);
  const auto whole = std::chrono::steady_clock::now() - began;
  std::mt19937 random(7);
  int killed = 0;
  for (int i = 0; i < 30; ++i) {
    if (i % 2 == 0) {
      // Anew, so that there is something to do; else the next one goes on.
      tool({"rclone", "purge", "flor:" + bucket() + "/runs of"});
    }
    auto options = environment();
    testing::Process process(
        {FLOR_CLI, "--home", (directory_ / "home").string(), "spool", run.key, url()}, options);
    std::this_thread::sleep_for(whole * static_cast<int>(random() % 100) / 100);
    process.kill(SIGKILL);
    if (process.wait().signal == SIGKILL) ++killed;
    const auto store = s3();
    if (!store->list("runs/").empty()) {
      ASSERT_THAT(damage_of(*store), ::testing::IsEmpty()) << i;
    }
  }
  EXPECT_GE(killed, 10);
  ASSERT_EQ(flor({"spool", run.key, url()}).status, 0);
  ASSERT_EQ(flor({"remote", "verify", url(), "--read-data"}).status, 0);
  ASSERT_EQ(flor({"fetch", run.key, url()}, "other").status, 0);
  expect_boundaries(*open("other"), run.key, 1, 0, 30);
}

TEST_F(S3ServerTest, TheCommandsWorkWithUrlsOfS3) {
  const Run run = finished_run(*open(), 1, 3);
  const auto sent = flor({"spool", "linear", url(), "--delete-local"});
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("read back"));
  EXPECT_THAT(flor({"remote", "ls", url()}).out, HasSubstr(run.key.substr(0, 8)));
  EXPECT_EQ(flor({"fetch", "linear", url()}).status, 0);
  expect_boundaries(*open(), run.key, 1, 0, 3);
  EXPECT_EQ(flor({"remote", "prune", url(), "linear", "--whole-runs", "--grace", "0"}).status, 0);
  EXPECT_EQ(flor({"remote", "ls", url()}).status, 3);
}

}  // namespace
}  // namespace flor::remote
