// flor serve without a browser: who is answered and who is not, and what is told.
#include "cli/fixture.h"
#include "page/server.h"
#include "queue/job_queue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

class ServeTest : public CliTest {
 protected:
  /// Begins with what was recorded until then.
  ServeProcess& server() {
    if (!server_) server_ = std::make_unique<ServeProcess>(home());
    return *server_;
  }
  store::Run two_runs() {
    record({.experiment = "linear", .started_us = 1'700'000'000'000'000, .loss = 2});
    return record({.experiment = "other",
                   .started_us = 1'700'000'100'000'000,
                   .arguments = {{"epochs", "int", "3"}, {"lr", "real", "0.5"}}});
  }
  static std::vector<std::string> column(const Json& answer, const std::string& name) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < answer["columns"].size(); ++i) {
      if (answer["columns"][i]["name"] != name) continue;
      for (const auto& row : answer["rows"]) cells.push_back(row["cells"][i]);
    }
    return cells;
  }

  std::unique_ptr<ServeProcess> server_;
};

TEST_F(ServeTest, OpensBeforeTheFirstRunAndShowsIt) {
  const std::filesystem::path place = directory_ / "new";
  std::filesystem::create_directory(place);
  const ServeProcess early(place);
  EXPECT_THAT(column(early.get("api/runs").json(), "id"), IsEmpty());
  store::NewRun start;
  start.experiment = "first";
  const auto opened = store::Store::open(place, store::OpenMode::existing);
  const store::Run run = opened->catalog().add_run(start);
  EXPECT_THAT(early.get("api/runs").body, HasSubstr(run.key));
}

TEST_F(ServeTest, PrintsAnAddressOnLoopbackWithATokenOf128Bits) {
  two_runs();
  EXPECT_THAT(server().url(), MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/[0-9a-f]{32}/"));
  ServeProcess another(home());
  EXPECT_NE(server().token(), another.token());
  EXPECT_NE(server().port(), another.port());
}

TEST_F(ServeTest, ListensAtNoAddressButLoopback) {
  two_runs();
  const int port = server().port();
  std::ifstream table("/proc/net/tcp");
  std::set<std::string> addresses;
  const std::string wanted = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(table, line);) {
    const std::string local = line.substr(6, 13);
    if (local.ends_with(wanted) && line.substr(34, 2) == "0A") addresses.insert(local.substr(0, 8));
  }
  EXPECT_THAT(addresses, ElementsAre("0100007F"));
}

TEST_F(ServeTest, TellsNothingToThoseWhoDoNotKnowTheToken) {
  two_runs();
  std::string wrong = server().token();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& path :
       {std::string("/"), std::string("/api/runs"), "/" + wrong + "/", "/" + wrong + "/api/runs",
        "/" + server().token().substr(0, 31) + "/api/runs", "/" + server().token() + "0/api/runs",
        "//" + server().token() + "/api/runs", std::string("/favicon.ico")}) {
    const HttpAnswer answer = server().request("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("linear"))) << path;
    EXPECT_EQ(answer.body, server().request("GET", "/").body) << path << " is told apart";
  }
  EXPECT_EQ(server().get("api/runs").status, 200);
}

TEST_F(ServeTest, AnswersOnlyUnderItsOwnNames) {
  two_runs();
  const std::string path = "/" + server().token() + "/api/runs";
  const auto status = [&](const std::string& host) {
    return server().request("GET", path, {{"Host", host}}).status;
  };
  EXPECT_EQ(status(server().host()), 200);
  EXPECT_EQ(status(fmt::format("localhost:{}", server().port())), 200);
  EXPECT_EQ(status("evil.example"), 421);
  EXPECT_EQ(status(fmt::format("evil.example:{}", server().port())), 421);
  EXPECT_EQ(status("127.0.0.1"), 421);
  EXPECT_EQ(status(""), 421);
  EXPECT_EQ(server().send("GET " + path + " HTTP/1.0\r\n\r\n").status, 421);
}

TEST_F(ServeTest, LetsNoOtherOriginReadOrChangeAnything) {
  two_runs();
  const std::string path = "/" + server().token() + "/api/runs";
  const auto from = [&](const std::string& origin) {
    return server().request("GET", path, {{"Origin", origin}});
  };
  EXPECT_EQ(from("http://" + server().host()).status, 200);
  EXPECT_EQ(from("http://evil.example").status, 403);
  EXPECT_EQ(from("null").status, 403);
  EXPECT_EQ(from("https://" + server().host()).status, 403);
  EXPECT_THAT(from("http://" + server().host()).headers,
              Not(::testing::Contains(::testing::Key("access-control-allow-origin"))));
  EXPECT_EQ(server().request("OPTIONS", path).status, 405);
  EXPECT_EQ(server().request("DELETE", path).status, 405);
  EXPECT_EQ(server().request("PUT", path, {{"Content-Length", "0"}}).status, 405);
}

TEST_F(ServeTest, ThePageMayRunNothingButItsOwnScript) {
  two_runs();
  const HttpAnswer page = server().get("");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.headers.at("content-security-policy"),
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'sha256-"),
                    HasSubstr("frame-ancestors 'none'"), Not(HasSubstr("unsafe"))));
  EXPECT_EQ(page.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(page.headers.at("referrer-policy"), "no-referrer");
  EXPECT_EQ(page.headers.at("cache-control"), "no-store");
  EXPECT_THAT(page.body, HasSubstr("Leon Sorokin")) << "the licence of uPlot";
  EXPECT_THAT(page.body, Not(HasSubstr(server().token()))) << "it is in the address alone";
}

TEST_F(ServeTest, WhatPeopleCallThingsIsNoMarkup) {
  const std::string bad = "<script>alert(1)</script>";
  record({.experiment = bad});
  const HttpAnswer page = server().get("");
  EXPECT_THAT(page.body, Not(HasSubstr(bad)));
  EXPECT_THAT(page.body, HasSubstr("\\u003cscript>alert(1)"));
  EXPECT_THAT(column(server().ask("runs"), "experiment"), ElementsAre(bad));
}

TEST_F(ServeTest, ListsRunsNewestFirstWithTheColumnsThatTellThemApart) {
  const store::Run newest = two_runs();
  const Json answer = server().ask("runs");
  EXPECT_EQ(answer["runs"], 2);
  EXPECT_EQ(answer["found"], 2);
  ASSERT_THAT(answer["rows"], SizeIs(2));
  EXPECT_EQ(answer["rows"][0]["id"], newest.key);
  EXPECT_EQ(answer["rows"][0]["state"], "finished");
  EXPECT_THAT(column(answer, "experiment"), ElementsAre("other", "linear"));
  EXPECT_THAT(column(answer, "arg:lr"), ElementsAre("0.5", "0.001"));
  EXPECT_THAT(column(answer, "arg:epochs"), IsEmpty()) << "it is the same in all";
  EXPECT_THAT(column(answer, "metric:accuracy"), ElementsAre("0.9375", "0.875"));
}

TEST_F(ServeTest, SortsSearchesAndCutsTheListOnTheServer) {
  two_runs();
  const auto names = [&](const std::string& question) {
    return column(server().ask("runs?" + question), "experiment");
  };
  EXPECT_THAT(names("sort=metric:accuracy"), ElementsAre("linear", "other"));
  EXPECT_THAT(names("sort=metric:accuracy&falling=1"), ElementsAre("other", "linear"));
  EXPECT_THAT(names("search=LIN"), ElementsAre("linear"));
  EXPECT_THAT(names("search=lr%3D0.5"), ElementsAre("other")) << "a condition";
  EXPECT_THAT(names("search=finished+other"), ElementsAre("other"));
  EXPECT_THAT(names("search=nothing+like+that"), IsEmpty());
  EXPECT_THAT(names("offset=1&limit=1"), ElementsAre("linear"));
  EXPECT_THAT(names("columns=experiment%0Ano-such-column"), ElementsAre("other", "linear"));
  const HttpAnswer wrong = server().get("api/runs?search=lr%3D");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.json()["error"].get<std::string>(), HasSubstr("condition 'lr='"));
  EXPECT_EQ(server().get("api/runs?search=nope%3D1").status, 404);
  EXPECT_EQ(server().get("api/runs?offset=abc").status, 400);
}

TEST_F(ServeTest, TellsOfARunWhatFlorShowTells) {
  const store::Run run = two_runs();
  replay(run, 3, 4);
  const Json answer = server().ask("run?run=" + run.key);
  EXPECT_EQ(answer["id"], run.key);
  EXPECT_EQ(answer["arguments"]["lr"], 0.5);
  EXPECT_EQ(answer["replays"][0]["result"]["verdict"], "verified");
  EXPECT_EQ(answer["metrics"]["gradient"]["hindsight"], true);
  const Json shown = flor({"show", run.key, "--json"}).json()["run"];
  for (const auto& [name, value] : answer.items()) {
    if (shown.contains(name)) {
      EXPECT_EQ(value, shown[name]) << name;
    }
  }
  EXPECT_EQ(server().get("api/run?run=abcdef123456").status, 404);
  EXPECT_EQ(server().ask("epochs?run=other")["epochs"][2]["loops"][0]["iterations"], 4);
}

TEST_F(ServeTest, SaysOfEveryCheckpointWhyItIsKept) {
  const store::Run run = two_runs();
  catalog().put_strategy(
      run.id,
      {.num_to_keep = 1, .score_attribute = "accuracy", .score_order = store::ScoreOrder::max});
  store::Progress progress;
  progress.decisions = {{0, 0, 2, store::StorageReason::every, 0, 0}};
  catalog().add_progress(run.id, progress);
  const Json answer = server().ask("checkpoints?run=" + run.key);
  EXPECT_EQ(answer["strategy"], "the 1 with the greatest accuracy");
  ASSERT_THAT(answer["checkpoints"], SizeIs(3));
  EXPECT_EQ(answer["checkpoints"][2]["why_kept"], "best 1:accuracy:max (rank 1)");
  EXPECT_EQ(answer["checkpoints"][0]["kept"], false);
  EXPECT_EQ(answer["checkpoints"][0]["why_stored"], "stored: forced by --flor_every");
  const Json other = server().ask("checkpoints?run=linear");
  EXPECT_EQ(other["checkpoints"][0]["why_kept"], "no rule deletes it");
}

TEST_F(ServeTest, DrawsAMetricWithAsManyPointsAsThePageHasColumnsFor) {
  const store::Run run = two_runs();
  std::vector<store::Value> values;
  for (int step = 0; step < 50'000; ++step) values.push_back(value("noise", step % 97, 0, step));
  values[31'234].value = 5000.0;
  catalog().add_values(run.id, values);
  const Json curve = server().ask("curve?run=other&metric=noise&axis=step&columns=300");
  const Json& series = curve["series"][0];
  EXPECT_EQ(series["count"], 50'000);
  EXPECT_LT(series["x"].size(), 1300u);
  EXPECT_EQ(series["x"].size(), series["y"].size());
  const std::vector<double> y = series["y"];
  EXPECT_THAT(y, ::testing::Contains(5000.0)) << "no peak is lost";
  const Json part =
      server().ask("curve?run=other&metric=noise&axis=step&columns=300&from=31200&to=31260");
  EXPECT_THAT(part["series"][0]["x"].get<std::vector<double>>(), ::testing::Contains(31234.0));
  EXPECT_EQ(server().get("api/curve?run=other&metric=absent").status, 404);
  EXPECT_EQ(server().get("api/curve?run=other&metric=noise&axis=colour").status, 400);
  EXPECT_EQ(server().get("api/curve?run=other&metric=noise&smoothing=1").status, 400);
}

TEST_F(ServeTest, DrawsSeveralRunsAsTheirMeanInABand) {
  const store::Run first = record({.epochs = 3}), second = record({.epochs = 2, .loss = 3});
  const std::string both = "runs=" + first.key + "," + second.key;
  const Json curve = server().ask("curve?" + both + "&metric=accuracy&axis=epoch");
  ASSERT_THAT(curve["series"], SizeIs(1));
  const Json& series = curve["series"][0];
  EXPECT_EQ(series["runs"], 2);
  EXPECT_EQ(series["x"], Json::array({0.0, 1.0, 2.0}));
  EXPECT_EQ(series["y"], Json::array({0.5, 0.75, 0.9375}));  // of 0.75 and 0.25, and so on
  EXPECT_NEAR(series["low"][0].get<double>(), 0.5 - std::sqrt(0.125), 1e-15);
  EXPECT_NEAR(series["high"][0].get<double>(), 0.5 + std::sqrt(0.125), 1e-15);
  EXPECT_TRUE(series["low"][2].is_null()) << "one value has no deviation";
  EXPECT_EQ(server().get("api/curve?" + both + "&metric=accuracy&axis=time").status, 400);
  EXPECT_EQ(server().get("api/curve?" + both + "&metric=absent").status, 404);
}

TEST_F(ServeTest, ShowsNewValuesOfARunThatGoesOn) {
  store::NewRun start;
  start.experiment = "live";
  start.started_us = 1'700'000'200'000'000;
  const store::Run run = catalog().add_run(start);
  const auto lock = store().lock_run(run.key);
  catalog().add_values(run.id, std::vector{value("loss", 3, 0, 0)});
  const auto count = [&] {
    return server().ask("curve?run=live&metric=loss&axis=step")["series"][0]["count"];
  };
  EXPECT_EQ(server().ask("run?run=live")["status"], "running");
  EXPECT_EQ(count(), 1);
  const std::string before = server().ask("pulse")["mark"];
  EXPECT_EQ(server().ask("pulse")["mark"], before);
  catalog().add_values(run.id, std::vector{value("loss", 2, 0, 1)});
  EXPECT_NE(server().ask("pulse")["mark"], before);
  // What took a moment to read is not read again at once.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (count() != 2 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(count(), 2);
}

TEST_F(ServeTest, ShowsWhatComesAfterTheIndexWasMadeAgain) {
  const store::Run before = record({});
  const auto curve = "api/curve?run=" + before.key + "&metric=loss";
  const Json drawn = server().get(curve).json();
  const Json mark = server().get("api/pulse").json()["mark"];
  close();
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    std::filesystem::remove(home() / file);
  }
  const store::Run after = record({.experiment = "later"});
  const Json shown = server().get("api/runs").json()["rows"];
  ASSERT_THAT(shown, SizeIs(2));
  EXPECT_EQ(shown[0]["id"], after.key);
  EXPECT_EQ(shown[1]["id"], before.key);
  EXPECT_NE(server().get("api/pulse").json()["mark"], mark);
  EXPECT_EQ(server().get(curve).json(), drawn);
  EXPECT_EQ(server().process().err().find("start it again"), std::string::npos);
}

TEST_F(ServeTest, SeesThatAProcessHasDied) {
  store::NewRun start;
  start.experiment = "live";
  const store::Run run = catalog().add_run(start);
  auto lock = store().lock_run(run.key);
  EXPECT_EQ(server().ask("runs")["rows"][0]["state"], "running");
  const std::string before = server().ask("pulse")["mark"];
  lock.reset();
  EXPECT_NE(server().ask("pulse")["mark"], before);
  EXPECT_EQ(server().ask("runs")["rows"][0]["state"], "interrupted");
}

TEST_F(ServeTest, TellsWhatWasLoggedBesidesNumbers) {
  const store::Run run = two_runs();
  replay(run, 3, 4);
  store::CheckpointWriter writer(store(), run.id);
  const std::vector<std::byte> pixels(2 * 3 * 3, std::byte{200});
  store::Value image = value("picture", 0, 1);
  image.type = store::ValueType::image;
  image.value = writer.write_object({"picture", store::ElementType::u8, {2, 3, 3}, 18}, pixels);
  catalog().add_values(run.id, std::vector{image});
  std::vector<std::string> names;
  const Json logged = server().ask("logged?run=other");
  for (const auto& each : logged["names"]) names.push_back(each["name"]);
  EXPECT_THAT(names, ElementsAre("note", "confusion", "picture"));
  const Json tables = server().ask("values?run=other&name=confusion");
  EXPECT_EQ(tables["items"][2]["value"]["columns"], Json({"cat", "dog"}));
  EXPECT_EQ(tables["items"][2]["origin"], "hindsight");
  EXPECT_THAT(server().ask("values?run=other&name=confusion&limit=2")["items"], SizeIs(2));
  const Json pictures = server().ask("values?run=other&name=picture");
  EXPECT_EQ(pictures["items"][0]["value"]["width"], 3);
  const HttpAnswer png = server().get("api/picture?object=" +
                                      pictures["items"][0]["value"]["object"].get<std::string>());
  EXPECT_EQ(png.status, 200);
  EXPECT_EQ(png.headers.at("content-type"), "image/png");
  EXPECT_EQ(png.body.substr(1, 3), "PNG");
  EXPECT_NE(server().get("api/picture?object=nothing").status, 200);
}

TEST_F(ServeTest, TriesAnEvaluationAgainOnlyForThePageItself) {
  const store::Run run = two_runs();
  const auto queue = store::open_home_queue(store());
  const std::int64_t evaluator = queue->add_evaluator("/tmp/judge.py:accuracy", "00");
  auto lock = store().lock_run("00000000000000aa");
  store::JobOrders orders{.owner = "00000000000000aa", .retries = {.attempts = 1}};
  orders.additions = {
      {.content = store::digest_of({}), .evaluator = evaluator, .path = run.key + "@0"}};
  orders.requests = {{.evaluator = evaluator, .count = 1}};
  const store::Lease lease = queue->exchange(orders).leases.at(0).lease;
  orders.additions.clear();
  orders.requests.clear();
  orders.reports = {{lease, store::JobReport::Kind::failed, "it cannot be read"}};
  queue->exchange(orders);
  const Json jobs = server().ask("jobs?run=" + run.key);
  ASSERT_THAT(jobs["jobs"], SizeIs(1));
  EXPECT_EQ(jobs["jobs"][0]["state"], "dead");
  EXPECT_EQ(jobs["jobs"][0]["message"], "it cannot be read");
  EXPECT_EQ(jobs["jobs"][0]["name"], "accuracy");
  EXPECT_EQ(jobs["counts"]["dead"], 1);
  const std::string retry = fmt::format("retry?id={}", lease.job);
  const std::string path = "/" + server().token() + "/api/" + retry;
  EXPECT_EQ(server().request("POST", path).status, 403) << "as a form of another page sends it";
  EXPECT_EQ(server().request("POST", path, {{"X-Flor-Token", "00"}}).status, 403);
  EXPECT_EQ(server().request("GET", path).status, 404);
  EXPECT_EQ(queue->jobs().at(0).state, store::JobState::dead);
  EXPECT_EQ(server().post(retry).json()["changed"], true);
  EXPECT_EQ(queue->jobs().at(0).state, store::JobState::queued);
  EXPECT_EQ(server().post(fmt::format("cancel?id={}", lease.job)).status, 200);
  EXPECT_EQ(queue->jobs().at(0).state, store::JobState::cancelled);
  EXPECT_EQ(server().post("retry?id=99").status, 404);
  EXPECT_EQ(server().ask(fmt::format("log?id={}", lease.job))["attempts"], Json::array());
}

TEST_F(ServeTest, EndsWithStatus0WhenInterruptedAndWritesNothingOfWhatWasAsked) {
  two_runs();
  server().get("api/runs");
  server().request("GET", "/wrong");
  for (const int signal : {SIGINT, SIGTERM}) {
    ServeProcess another(home());
    another.get("api/runs?search=secret");
    another.process().kill(signal);
    const ProcessResult result = another.process().wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(result.err, Not(HasSubstr("secret")));
    EXPECT_THAT(result.err, Not(HasSubstr(another.token())));
  }
}

TEST_F(ServeTest, RefusesARequestThatNamesTwoHosts) {
  two_runs();
  const std::string line =
      "GET /" + server().token() + "/api/runs HTTP/1.1\r\nHost: " + server().host();
  EXPECT_EQ(server().send(line + "\r\nHost: evil.example\r\n\r\n").status, 400);
  EXPECT_EQ(server().send(line + "\r\nhost: " + server().host() + "\r\n\r\n").status, 400);
  EXPECT_EQ(server().send(line + "\r\nConnection: close\r\n\r\n").status, 200);
}

TEST_F(ServeTest, ShowsAPageWhereThereIsNothingAndJsonOnlyToPrograms) {
  two_runs();
  const auto type = [&](const std::string& path, const std::string& accept) {
    const HttpAnswer answer = server().request("GET", path, {{"Accept", accept}});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.headers.at("content-security-policy"), "default-src 'none'");
    return answer.headers.at("content-type");
  };
  const std::string html = "text/html; charset=utf-8", json = "application/json";
  const std::string token = "/" + server().token();
  EXPECT_EQ(type("/wrong/", "text/html,*/*;q=0.8"), html);
  EXPECT_EQ(type("/wrong/", "*/*"), html);
  EXPECT_EQ(type("/wrong/", json), json);
  EXPECT_EQ(type(token, "text/html"), html);
  EXPECT_EQ(type(token + "/nothing/here", "text/html"), html);
  EXPECT_EQ(type(token + "/api/nothing", "*/*"), json);
}

TEST_F(ServeTest, TakesNoBodyForANextRequest) {
  two_runs();
  const std::string inside =
      "GET /" + server().token() + "/api/runs HTTP/1.1\r\nHost: " + server().host() + "\r\n\r\n";
  const HttpAnswer answer = server().send(
      fmt::format("POST /{}/api/retry?id=1 HTTP/1.1\r\nHost: {}\r\nX-Flor-Token: {}\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  server().token(), server().host(), server().token(), inside.size(), inside));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_THAT(answer.body, Not(HasSubstr("linear")));
}

TEST_F(ServeTest, AnswersEachHeadWithThePageOrWithTheReasonWhyNot) {
  two_runs();
  const auto status = [&](std::size_t bytes, std::size_t each) {
    std::string request =
        "GET /" + server().token() + "/ HTTP/1.1\r\nHost: " + server().host() + "\r\n";
    for (int i = 0; request.size() + each < bytes; ++i) {
      request += fmt::format("X-{}: {}\r\n", i, std::string(each, 'x'));
    }
    return server().send(request + "\r\n").status;
  };
  for (const std::size_t each : {100U, 1000U, 4000U}) {
    for (std::size_t kib = 1; kib <= 40; ++kib) {
      const int answer = status(kib << 10, each);
      EXPECT_TRUE(answer == 200 || answer == 431) << kib << " KiB: " << answer;
      if (kib <= 12) {
        EXPECT_EQ(answer, 200) << kib << " KiB in headers of " << each;
      }
      if (kib >= 37) {
        EXPECT_EQ(answer, 431) << kib << " KiB in headers of " << each;
      }
    }
  }
  EXPECT_EQ(server().get("api/runs").status, 200);
}

/// Connections that never complete a request, and what they cost.
class ServeUnderLoadTest : public ServeTest {
 protected:
  ~ServeUnderLoadTest() override {
    for (const int socket : sockets_) ::close(socket);
  }
  /// Opens connections of which every other one sends a byte.
  void idle(int count) {
    for (int i = 0; i < count; ++i) {
      sockets_.push_back(server().connect());
      if (i % 2 == 0) say(sockets_.back(), "G");
    }
  }
  /// A byte more of each that is still there.
  void go_on_slowly() {
    for (const int socket : sockets_) say(socket, "E");
  }
  /// Sends headers without end until the server closes; how many bytes it took.
  std::size_t send_headers(std::size_t most) {
    const int socket = server().connect();
    say(socket, "GET /" + server().token() + "/ HTTP/1.1\r\nHost: " + server().host() + "\r\n");
    const std::string headers(64 << 10, 'h');
    std::size_t sent = 0;
    while (sent < most && say(socket, "X-A: " + headers + "\r\n")) sent += headers.size();
    ::close(socket);
    return sent;
  }
  static bool say(int socket, const std::string& text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// Asks so many times; how long each answer took, in milliseconds.
  std::vector<double> answers(int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(server().get("api/pulse").status, 200);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      times.push_back(took.count());
    }
    return times;
  }
  long peak_mib() {
    server().process().kill(SIGTERM);
    return server().process().wait().peak_kib / 1024;
  }

 private:
  std::vector<int> sockets_;
};

TEST_F(ServeUnderLoadTest, AUserIsAnsweredWhileSixHundredOthersIdleOrSendSlowly) {
  two_runs();
  idle(300);
  EXPECT_EQ(server().get("api/runs").status, 200);
  idle(300);
  go_on_slowly();
  EXPECT_EQ(server().get("api/runs").status, 200);
}

TEST_F(ServeUnderLoadTest, HeadersWithoutEndAreCutOff) {
  two_runs();
  constexpr std::size_t kMost = 64 << 20;
  for (int i = 0; i < 4; ++i) EXPECT_LT(send_headers(kMost), kMost);
  EXPECT_EQ(server().get("api/runs").status, 200);
  EXPECT_LT(peak_mib(), 100);
}

TEST_F(ServeUnderLoadTest, OftenUnder572MebibytesOfHeadersAnd1500Connections) {
  two_runs();
  idle(1500);
  std::vector<double> idling = answers(100), flooded;
  constexpr std::size_t kAll = std::size_t{572} << 20, kEach = 64 << 10;
  for (std::size_t sent = 0; sent < kAll; sent += kEach) {
    const int socket = server().connect();
    say(socket, "GET / HTTP/1.1\r\nX: " + std::string(kEach, 'x'));
    if (sent % (kEach * 100) == 0) {
      go_on_slowly();
      flooded.push_back(answers(1).front());
    }
    ::close(socket);
  }
  const long peak = peak_mib();
  for (std::vector<double>* times : {&idling, &flooded}) {
    std::ranges::sort(*times);
    const double most = (*times)[times->size() * 95 / 100];  // the others may be the machine's
    std::printf("answers took %.1f ms, 95 of 100 at most %.1f ms, the slowest %.1f ms\n",
                (*times)[times->size() / 2], most, times->back());
    EXPECT_LT(most, 100);
  }
  std::printf("the largest resident set was %ld MiB\n", peak);
  EXPECT_LT(peak, 100);
}

TEST_F(ServeTest, RefusesAPortThatIsTakenAndAStoreThatIsNotThere) {
  two_runs();
  const Outcome taken = flor({"serve", "--port", std::to_string(server().port())});
  EXPECT_EQ(taken.status, 1);
  EXPECT_THAT(taken.err, HasSubstr("cannot listen at 127.0.0.1"));
  EXPECT_EQ(flor({"serve", "--port", "70000"}).status, 2);
}

TEST_F(ServeTest, AnEmptyStoreHasAnEmptyPage) {
  store();
  EXPECT_EQ(server().get("").status, 200);
  EXPECT_EQ(server().ask("runs")["runs"], 0);
  EXPECT_EQ(server().ask("jobs")["total"], 0);
}

}  // namespace
}  // namespace flor::testing
