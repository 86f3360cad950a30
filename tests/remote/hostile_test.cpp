// What an attacker who can write to a bucket can do to who reads it, through the real program:
// nothing is executed, nothing that is here is replaced, nothing hangs, and memory stays in
// proportion to what was sent.
#include "base/text.h"
#include "catalog_rows.h"
#include "hostile_cases.h"
#include "index/copies/foreign_rows.h"
#include "page/server.h"
#include "store/made_again.h"
#include "support/content.h"
#include "support/process.h"
#include "support/sanitized.h"

#include <flor/store/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>

namespace flor::remote {
namespace {

using crafted::HostileBucket;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kLongest{5};
/// Beside ten times what was sent: what a command takes more or less from call to call.
constexpr long kFreeKib = testing::kMemoryFactor * (16 << 10);

/// A victim's home and a bucket, as they were before the attacker came and as they are then.
class Scene {
 public:
  Scene(fs::path honest, fs::path directory)
      : honest_(std::move(honest)), directory_(std::move(directory)) {
    fs::create_directories(directory_);
  }

  fs::path home() const { return directory_ / "home"; }
  fs::path bucket() const { return directory_ / "bucket"; }
  std::string url() const { return "file://" + bucket().string(); }

  /// An honest bucket, unless it is crafted.
  void begin(const HostileBucket* hostile, const std::string& run) const {
    for (const fs::path& path : {home(), bucket()}) fs::remove_all(path);
    fs::copy(honest_ / "victim", home(), fs::copy_options::recursive);
    fs::copy(honest_ / "bucket", bucket(), fs::copy_options::recursive);
    if (hostile) hostile->craft(*open_directory(bucket().string()), run);
  }

  testing::ProcessResult flor(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {FLOR_CLI, "--home", home().string()});
    testing::ProcessOptions options;
    options.timeout = kLongest;
    return testing::run_process(std::move(arguments), options);
  }
  /// The first two only look.
  std::vector<std::vector<std::string>> commands(const std::string& run) const {
    return {{"remote", "ls", url()},
            {"remote", "verify", url(), "--read-data"},
            {"fetch", run, url()},
            {"replay", run, "--from", url(), "--", "/bin/true"}};
  }

  /// What a user looks at afterwards, with runs of both in the home.
  std::vector<std::vector<std::string>> looks(const std::string& run) const {
    return {{"list"},
            {"list", "--json"},
            {"top", "--once"},
            {"du"},
            {"best", "loss", "--min", "--experiment", "linear"},
            {"show", run, "--all"},
            {"plot", run},
            {"query", "loss", "--run", run},
            {"log"},
            {"doctor"},
            {"fsck", "--no-read-data"},
            {"replay", run, "--dry-run", "--", "/bin/true"}};
  }

  /// The same in a browser.
  static std::vector<std::string> questions(const std::string& run) {
    return {"",
            "api/runs",
            "api/run?run=" + run,
            "api/epochs?run=" + run,
            "api/checkpoints?run=" + run,
            "api/logged?run=" + run,
            "api/curve?run=" + run + "&metric=loss&axis=epoch",
            "api/curve?run=" + run + "&metric=loss&axis=time"};
  }

  std::uint64_t sent() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(bucket())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  /// All rows of the catalog, and all bytes of packs and journals.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> found;
    for (const char* part : {"packs", "runs"}) {
      for (const auto& entry : fs::recursive_directory_iterator(home() / part)) {
        if (!entry.is_regular_file()) continue;
        found[entry.path().lexically_relative(home())] = testing::content_of(entry.path());
      }
    }
    store::Connection catalog(home() / "catalog.db", store::Connection::Mode::read_only);
    for (const std::string& table : catalog_tables(catalog)) {
      found[table] = catalog_rows(catalog, table);
    }
    return found;
  }

 private:
  fs::path honest_, directory_;
};

/// The same as before; where a run may have come, all that was there is there.
bool holds(const std::map<std::string, std::string>& now,
           const std::map<std::string, std::string>& before, bool may_grow) {
  if (!may_grow) return now == before;
  return std::ranges::all_of(before, [&](const auto& entry) {
    const auto found = now.find(entry.first);
    if (found == now.end()) return false;
    if (found->second == entry.second) return true;
    std::istringstream lines(entry.second);
    for (std::string line; std::getline(lines, line);) {
      if (found->second.find(line) == std::string::npos) return false;
    }
    return true;
  });
}

/// Whether a terminal would do something with it instead of showing it.
bool acts_on_terminal(std::string_view text) {
  while (!text.empty()) {
    const store::CodePoint point = store::first_code_point(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(point.length, 1));
    if (one != "\n" && store::printable(one) != one) return true;
    text.remove_prefix(one.size());
  }
  return false;
}

/// What each command takes with honest runs.
struct Usual {
  std::vector<long> commands, looks;  ///< KiB
  long pages = 0;                     ///< of `flor serve`
};

class HostileTest : public RemoteTest {
 protected:
  void SetUp() override {
    const auto here = Store::open(honest() / "victim", store::OpenMode::create);
    const auto there = Store::open(directory_ / "attacker", store::OpenMode::create);
    const auto bucket = open_directory((honest() / "bucket").string());
    own_ = small_run(*here, 1);
    foreign_ = small_run(*there, 2);
    spool(*here, here->catalog().resolve(own_), *bucket);
    spool(*there, there->catalog().resolve(foreign_), *bucket);
  }

  /// As `finished_run`, with less content. What its command does would be seen.
  std::string small_run(Store& store, unsigned seed) {
    store::NewRun start = store::new_run("linear");
    start.started_us += seed;
    start.program = "/usr/bin/touch";
    start.program_digest = "";
    start.commit = "";
    start.command = {"touch", executed().string()};
    const Run run = store.catalog().add_run(start);
    store.catalog().add_argument(run.id, {"lr", "real", "0.1"});
    store::CheckpointWriter writer(store, run.id);
    for (int epoch = 0; epoch <= kEpochs; ++epoch) {
      writer.write(boundary(epoch), store::make_snapshot(seed, epoch, 20'000));
      if (epoch == kEpochs) break;
      store.catalog().put_main_loop(run.id, {0, "epoch", 0, epoch + 1, false, false});
      store.catalog().add_iteration(run.id, {0, epoch, 1.5, 0.01});
      const store::Item image{"image", store::ElementType::u8, {10, 50, 1}, 500};
      const std::string picture =
          writer.write_object(image, store::random_bytes(seed + static_cast<unsigned>(epoch), 500));
      const std::vector<store::Value> values = {
          {"loss", {"epoch", epoch, -1, ""}, 0, store::ValueType::real, 1.0 / (1 + epoch), 0},
          {"picture", {"epoch", epoch, -1, ""}, 0, store::ValueType::image, picture, 0}};
      store.catalog().add_values(run.id, values);
    }
    store.catalog().finish_run(run.id, start.started_us + 100, false, "");
    return run.key;
  }
  static constexpr int kEpochs = 5;

  fs::path honest() const { return directory_ / "honest"; }
  fs::path executed() const { return directory_ / "executed"; }
  Scene scene(const std::string& name = "scene") const { return {honest(), directory_ / name}; }
  const std::string& run_of(const HostileBucket& hostile) const {
    return hostile.own ? own_ : foreign_;
  }

  /// Begins the work in a process of its own, which ends with 1 where an expectation failed there.
  /// Only processes of one thread do so: a lock that another thread holds stays held in the new
  /// process.
  static pid_t begin_apart(const std::function<void()>& work) {
    return store::start_process([&] {
      const auto* result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
      const int before = result->total_part_count();
      work();
      std::fflush(stdout);
      return result->total_part_count() > before ? 1 : 0;
    });
  }

  /// In a process of its own: the greatest memory of this one would count as that of each program
  /// that it starts later.
  static void apart(const std::function<void()>& work) {
    EXPECT_EQ(store::wait_for(begin_apart(work)), 0);
  }

  /// Each command of its own, on a store as it was before.
  void attack(const Scene& scene, const HostileBucket& hostile, const Usual& usual,
              const std::map<std::string, std::string>& before) const {
    SCOPED_TRACE(hostile.name);
    apart([&] { scene.begin(&hostile, run_of(hostile)); });
    const long allowed = kFreeKib + static_cast<long>(10 * scene.sent() / 1024);
    const auto commands = scene.commands(run_of(hostile));
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const testing::ProcessResult result = scene.flor(commands[i]);
      SCOPED_TRACE(commands[i][0] + " " + commands[i][1] + ": " + result.out + result.err);
      EXPECT_FALSE(result.timed_out);
      EXPECT_EQ(result.signal, 0);
      EXPECT_LT(result.peak_kib, usual.commands[i] + allowed);
      EXPECT_FALSE(fs::exists(executed()));
      EXPECT_FALSE(acts_on_terminal(result.out + result.err));
      const bool looks = i < 2;
      // A replay brings the facts of a run that is not here, and content only where it is loaded.
      const bool brings_facts = commands[i][0] == "replay" && !hostile.own;
      apart([&] {
        EXPECT_TRUE(holds(scene.content(), before, (hostile.passes && !looks) || brings_facts));
      });
      EXPECT_TRUE(result.status != 0 || looks || hostile.passes);
    }
    const pid_t same = store::start_process([&] { return scene.content() == before ? 0 : 1; });
    if (store::wait_for(same) != 0) look_around(scene, run_of(hostile), usual, allowed);
    apart([&] { store::expect_same_when_made_again(scene.home()); });
  }

  /// What the page asks for, of the list and of the run that came.
  void look_at_pages(const Scene& scene, const std::string& run, const Usual& usual,
                     long allowed) const {
    testing::ServeProcess server(scene.home());
    for (const std::string& question : Scene::questions(run)) {
      SCOPED_TRACE("serve: " + question);
      const auto began = std::chrono::steady_clock::now();
      const testing::HttpAnswer answer = server.get(question);
      EXPECT_LT(std::chrono::steady_clock::now() - began, kLongest);
      EXPECT_TRUE(answer.status == 200 || answer.status == 404) << answer.body.substr(0, 2000);
      EXPECT_FALSE(question.starts_with("api/") && answer.json().is_discarded());
    }
    EXPECT_THAT(server.get("api/runs").body, HasSubstr(own_));
    server.process().kill(SIGTERM);
    const testing::ProcessResult result = server.process().wait();
    EXPECT_EQ(result.signal, 0);
    EXPECT_LT(result.peak_kib, usual.pages + allowed);
    EXPECT_FALSE(acts_on_terminal(result.err));
    EXPECT_FALSE(fs::exists(executed()));
  }

  /// Nothing that came is in the way of the runs recorded here, nor of the terminal.
  void look_around(const Scene& scene, const std::string& run, const Usual& usual,
                   long allowed) const {
    const auto looks = scene.looks(run);
    for (std::size_t i = 0; i < looks.size(); ++i) {
      const testing::ProcessResult result = scene.flor(looks[i]);
      SCOPED_TRACE(fmt::format("{}: status {}: {}{}", looks[i][0], result.status,
                               result.out.substr(0, 2000), result.err.substr(0, 2000)));
      EXPECT_FALSE(result.timed_out);
      EXPECT_EQ(result.signal, 0);
      EXPECT_NE(result.status, 4);
      EXPECT_LT(result.peak_kib, usual.looks[i] + allowed);
      EXPECT_TRUE(looks[i].back() == "--json" || !acts_on_terminal(result.out + result.err));
      EXPECT_FALSE(fs::exists(executed()));
    }
    EXPECT_THAT(scene.flor({"list", "-q"}).out, HasSubstr(own_));
    look_at_pages(scene, run, usual, allowed);
  }

  Usual usual_memory() const {
    const Scene honest = scene("usual");
    honest.begin(nullptr, foreign_);
    Usual usual;
    for (const auto& command : honest.commands(foreign_)) {
      usual.commands.push_back(honest.flor(command).peak_kib);
    }
    for (const auto& look : honest.looks(foreign_)) {
      usual.looks.push_back(honest.flor(look).peak_kib);
    }
    testing::ServeProcess server(honest.home());
    for (const std::string& question : Scene::questions(foreign_)) {
      EXPECT_EQ(server.get(question).status, 200) << question;
    }
    server.process().kill(SIGTERM);
    usual.pages = server.process().wait().peak_kib;
    return usual;
  }

  /// In two processes at a time.
  void attack_with(const std::vector<HostileBucket>& buckets) {
    const Scene honest = scene("before");
    honest.begin(nullptr, foreign_);
    const auto before = honest.content();
    const Usual usual = usual_memory();
    constexpr std::size_t kProcesses = 2;
    std::vector<pid_t> processes;
    for (std::size_t i = 0; i < kProcesses; ++i) {
      processes.push_back(begin_apart([&, i] {
        const Scene own = scene(fmt::format("scene{}", i));
        for (std::size_t at = i; at < buckets.size(); at += kProcesses) {
          apart([&] { attack(own, buckets[at], usual, before); });
        }
      }));
    }
    for (const pid_t process : processes) EXPECT_EQ(store::wait_for(process), 0);
  }

  /// What is fetched, in the home alone: as an older Flor took it.
  void break_text(const Scene& scene, const std::string& sql) const {
    scene.begin(nullptr, foreign_);
    ASSERT_EQ(scene.flor({"fetch", foreign_, scene.url()}).status, 0);
    apart([&] {
      store::Connection catalog(scene.home() / "catalog.db", store::Connection::Mode::existing);
      catalog.execute(sql.c_str());
    });
  }

  std::string own_, foreign_;
};

TEST_F(HostileTest, NoBucketExecutesReplacesHangsOrFillsTheMemory) {
  const std::vector<HostileBucket> buckets = crafted::hostile_buckets();
  EXPECT_GE(buckets.size(), 60U);
  attack_with(buckets);
}

TEST_F(HostileTest, NoColumnDoesEither) {
  constexpr std::size_t kTaken = 24;
  std::vector<HostileBucket> all = crafted::each_column(), some;
  std::ranges::sample(all, std::back_inserter(some), kTaken, std::mt19937(1));
  EXPECT_EQ(some.size(), kTaken);
  attack_with(some);
}

TEST_F(HostileTest, NoColumnDoesEitherSlow) { attack_with(crafted::each_column()); }

TEST_F(HostileTest, TextsThatCannotBeReadAreRefusedByName) {
  const Scene scene = this->scene();
  for (const store::FormedText& text : store::formed_texts()) {
    for (const std::string broken : {"x", "7", "{\"cores\":7}", "[7]", "[", "\xff"}) {
      if (text.form == store::TextForm::object && broken[0] == '{') continue;
      const std::string row =
          text.table == std::string("recipe") ? "INSERT INTO recipe (id, json) VALUES (1, '{}'); "
                                                "INSERT INTO build SELECT id, 1, '' FROM run;"
          : text.table == std::string("resumption")
              ? "INSERT INTO resumption SELECT id, 0, 7, 0, 0, 0, 1, '', 0, '', '', '[]' FROM run;"
          : text.table == std::string("replay")
              ? "INSERT INTO replay (run, started_us, segment, segments, first_epoch, last_epoch, "
                "strong, probes, program_digest, command) SELECT id, 1, 0, 1, 0, 1, 0, '', '', "
                "'[]' FROM run;"
              : "";
      const HostileBucket hostile = crafted::by_sql(
          "", fmt::format("{}UPDATE {} SET {} = '{}'", row, text.table, text.column, broken));
      SCOPED_TRACE(fmt::format("{}.{} = {}", text.table, text.column, broken));
      apart([&] { scene.begin(&hostile, foreign_); });
      const testing::ProcessResult verified = scene.flor({"remote", "verify", scene.url()});
      EXPECT_EQ(verified.status, 4);
      EXPECT_THAT(verified.out, HasSubstr(std::string(text.what) + " cannot be read ("));
      const testing::ProcessResult fetched = scene.flor({"fetch", foreign_, scene.url()});
      EXPECT_EQ(fetched.status, 4);
      EXPECT_THAT(fetched.err, HasSubstr(foreign_));
      EXPECT_THAT(fetched.err, HasSubstr(std::string(text.what) + " cannot be read ("));
      EXPECT_EQ(std::ranges::count(fetched.err, '\n'), 1);
    }
  }
}

TEST_F(HostileTest, ATextInTheHomeThatCannotBeReadCostsItsRunAlone) {
  const Scene scene = this->scene();
  for (const std::string sql :
       {"UPDATE run SET command = 'x' WHERE key = '{}'",
        "INSERT INTO environment (json) VALUES ('7'); UPDATE run SET environment = "
        "last_insert_rowid() WHERE key = '{}'"}) {
    break_text(scene, std::string(sql).replace(sql.find("{}"), 2, foreign_));
    const testing::ProcessResult listed = scene.flor({"list", "--json"});
    EXPECT_EQ(listed.status, 0);
    EXPECT_EQ(nlohmann::json::parse(listed.out)["runs"].size(), 2U);
    EXPECT_THAT(listed.err, HasSubstr("flor: run " + foreign_.substr(0, 8) + ": its "));
    EXPECT_THAT(listed.err, HasSubstr("`flor rm " + foreign_.substr(0, 8) + "` removes the run"));
    EXPECT_EQ(std::ranges::count(listed.err, '\n'), 1);
    EXPECT_EQ(scene.flor({"show", own_}).status, 0);
    EXPECT_EQ(scene.flor({"tag", own_, "good"}).status, 0);
    EXPECT_EQ(scene.flor({"show", foreign_}).status, 0);
    EXPECT_EQ(scene.flor({"replay", foreign_, "--trust"}).status, 4);
    const testing::ProcessResult checked = scene.flor({"fsck", "--no-read-data"});
    EXPECT_EQ(checked.status, 4);
    EXPECT_THAT(checked.out, HasSubstr("unreadable: run " + foreign_));
    EXPECT_EQ(scene.flor({"rm", foreign_}).status, 0);
    EXPECT_EQ(scene.flor({"fsck", "--no-read-data"}).status, 0);
    EXPECT_EQ(scene.flor({"list", "--json"}).err, "");
  }
}

TEST_F(HostileTest, NoCountIsBelievedForWhichThereAreNoRows) {
  const Scene scene = this->scene();
  for (const std::string sql :
       {"UPDATE value SET epoch = 9223372036854775807 - epoch",
        "UPDATE main_loop SET iterations = 2000000000; UPDATE run SET epochs = 2000000000"}) {
    const HostileBucket hostile = crafted::by_sql("", sql);
    apart([&] { scene.begin(&hostile, foreign_); });
    const testing::ProcessResult result = scene.flor({"fetch", foreign_, scene.url()});
    EXPECT_EQ(result.status, 4);
    EXPECT_THAT(result.err, HasSubstr("is a number that cannot be"));
    EXPECT_EQ(scene.flor({"remote", "verify", scene.url()}).status, 4);
  }
}

TEST_F(HostileTest, NoMeasurementIsBelievedThatCannotBe) {
  const Scene scene = this->scene();
  for (const std::string sql :
       {"UPDATE iteration SET seconds = 9e999", "UPDATE iteration SET record_seconds = -7",
        "UPDATE iteration SET seconds = 1e308"}) {
    const HostileBucket hostile = crafted::by_sql("", sql);
    apart([&] { scene.begin(&hostile, foreign_); });
    const testing::ProcessResult result = scene.flor({"fetch", foreign_, scene.url()});
    EXPECT_EQ(result.status, 4) << sql;
    EXPECT_THAT(result.err, HasSubstr("is a number that cannot be")) << sql;
  }
  const HostileBucket none =
      crafted::with_no_number("", "UPDATE iteration SET seconds = 3.141592653589793");
  apart([&] { scene.begin(&none, foreign_); });
  EXPECT_EQ(scene.flor({"fetch", foreign_, scene.url()}).status, 4);
}

/// A letter that is repeated takes nothing on the way.
TEST_F(HostileTest, NoTextIsReadThatTakesMuchMoreThanWasSent) {
  const Scene scene = this->scene();
  for (const std::string sql :
       {"UPDATE run SET message = printf('%.*c', 4000000, 'x')",
        // Beside something that does take its room on the way.
        "INSERT INTO recipe (id, json) VALUES (9, '{\"a\": \"' || hex(randomblob(20000)) || "
        "'\"}'); "
        "INSERT INTO argument WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE "
        "i < 18) SELECT id, 'a' || i, i, 'string', printf('%.*c', 1000000, 'x') FROM run, r"}) {
    const HostileBucket hostile = crafted::by_sql("", sql);
    apart([&] { scene.begin(&hostile, foreign_); });
    const testing::ProcessResult result = scene.flor({"fetch", foreign_, scene.url()});
    EXPECT_EQ(result.status, 4) << sql;
    EXPECT_THAT(result.err, HasSubstr("longer than")) << sql;
    EXPECT_LT(result.peak_kib, 100 << 10) << sql;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  }
  // What an honest run may have.
  const HostileBucket honest =
      crafted::by_sql("", "UPDATE run SET message = printf('%.*c', 1000000, 'x')");
  apart([&] { scene.begin(&honest, foreign_); });
  EXPECT_EQ(scene.flor({"fetch", foreign_, scene.url()}).status, 0);
}

TEST_F(HostileTest, ADifferenceIsNamedInOneLine) {
  const HostileBucket hostile =
      crafted::by_sql("", "UPDATE value SET value = value + 1000000 WHERE type = 2", true);
  const Scene scene = this->scene();
  scene.begin(&hostile, own_);
  const testing::ProcessResult result = scene.flor({"fetch", own_, scene.url()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("'loss' in epoch 0 is 1 here and 1000001 there"));
  EXPECT_THAT(result.err, HasSubstr("nothing was changed here"));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
}

TEST_F(HostileTest, LabelsFromElsewhereRemoveNothingAndLeaveTheLastWordToUsersHere) {
  const HostileBucket hostile = crafted::by_sql("", crafted::strange_labels());
  const Scene scene = this->scene();
  scene.begin(&hostile, foreign_);
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(scene.flor({"fetch", foreign_, scene.url()}).status, 0);
    EXPECT_THAT(scene.flor({"list", "-q"}).out, HasSubstr(foreign_));
  }
  const auto tags = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"tag", foreign_, "--json"});
    return nlohmann::json::parse(scene.flor(std::move(words)).out)["tags"];
  };
  const nlohmann::json given = tags({});
  EXPECT_EQ(given.size(), 64U);
  for (const std::string tag : given) EXPECT_TRUE(tag == "good" || tag[0] == 't') << tag;
  const std::string last = given.back();
  EXPECT_EQ(tags({"--remove", last}).size(), 63U);
  EXPECT_EQ(scene.flor({"note", foreign_, "mine"}).status, 0);
  ASSERT_EQ(scene.flor({"fetch", foreign_, scene.url()}).status, 0);
  EXPECT_THAT(scene.flor({"note", foreign_}).out, HasSubstr(": mine\n"));
  EXPECT_THAT(tags({}).dump(), Not(HasSubstr(fmt::format("\"{}\"", last))));
  store::expect_same_when_made_again(scene.home());
}

TEST_F(HostileTest, PoisonIsFoundByVerifyAsByFsckAndIsNoAdviceForTheStoreHere) {
  const HostileBucket hostile{"", false, [](ObjectStore& objects, const std::string& key) {
                                crafted::with_poison(objects, key, 0, 255, 100);
                              }};
  const Scene scene = this->scene();
  scene.begin(&hostile, foreign_);
  const testing::ProcessResult result =
      scene.flor({"remote", "verify", scene.url(), "--read-data"});
  EXPECT_EQ(result.status, 4);
  EXPECT_THAT(result.out, HasSubstr("its content does not have its digest"));
  EXPECT_THAT(result.out, Not(HasSubstr("fsck")));
}

}  // namespace
}  // namespace flor::remote
