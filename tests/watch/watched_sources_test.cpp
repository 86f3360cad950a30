// Which found checkpoints become jobs, and of whom: with the queue of a store of the test's own,
// places that exist in memory alone, and evaluators that start no process.
#include "fake_group.h"
#include "watch/watched_sources.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::cli {
namespace {

using flor::testing::FakeEvaluators;
using flor::testing::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

store::FileIdentity file(std::int64_t inode) { return {1, inode, 100, 5}; }
store::Digest digest(const std::string& content) {
  return store::digest_of(std::as_bytes(std::span(content)));
}

/// Places, and the files that are there now.
struct World {
  std::vector<std::string> places{"/runs"};
  std::map<std::string, store::FileIdentity> files;
};

class FakeSource final : public CheckpointSource {
 public:
  explicit FakeSource(const World& world) : world_(world) {}

  std::vector<std::string> places() const override { return world_.places; }
  std::vector<Known> present(std::size_t place) const override {
    std::vector<Known> all;
    for (const auto& [path, file] : world_.files) {
      if (path.starts_with(world_.places[place] + "/")) all.emplace_back(path, file);
    }
    return all;
  }
  std::optional<store::FileIdentity> identify_at(const std::string& path) const override {
    const auto found = world_.files.find(path);
    return found == world_.files.end() ? std::nullopt : std::optional(found->second);
  }
  void know(std::size_t, const std::string& path, const store::FileIdentity&) override {
    known.insert(path);
  }
  int descriptor() const override { return -1; }
  Clock::time_point due() const override { return Clock::time_point::max(); }
  void step(const std::function<void(FoundCheckpoint)>&) override {}
  std::size_t expected() const override { return 0; }
  std::vector<std::string> incomplete() const override { return {}; }
  std::vector<std::string> remarks() override { return {}; }

  std::set<std::string> known;

 private:
  const World& world_;
};

class WatchedSourcesTest : public ::testing::Test {
 protected:
  /// A watch from its beginning to its end. Another one may follow in the same home.
  struct Watch {
    Watch(WatchedSourcesTest& test, bool existing) : test_(test) {
      plan.existing = existing;
      auto made = std::make_unique<FakeSource>(test.world_);
      source = made.get();
      sources = std::make_unique<WatchedSources>(
          *test.store_, *test.queue_, std::move(made), plan, test.evaluators_.all, desk,
          [this](const std::string& note) { notes.push_back(note); });
      sources->open();
    }
    /// As the finder tells of one.
    void find(std::size_t place, const std::string& path, const std::string& content) {
      sources->take({.found = {{place, path, test_.world_.files.at(path), digest(content)}}});
    }
    /// Brings all orders to the queue; the new jobs, as "path for evaluator".
    std::vector<std::string> exchange() {
      const store::JobOrders& orders = desk.begin({}, {}, {});
      std::vector<std::string> jobs;
      for (const store::NewJob& job : orders.additions) {
        jobs.push_back(job.path + " for " + std::to_string(job.evaluator));
      }
      desk.take(test_.queue_->exchange(orders));
      return jobs;
    }

    WatchedSourcesTest& test_;
    WatchPlan plan;
    std::vector<std::string> notes;
    JobDesk desk{{.owner = test_.owner_, .retries = {}}, store::JobOrder::fifo, [](const auto&) {}, {}};
    FakeSource* source = nullptr;
    std::unique_ptr<WatchedSources> sources;
  };

  /// Adds an evaluator whose number comes from the queue, as a watch does.
  std::int64_t add(const std::string& name, std::optional<std::filesystem::path> place = {}) {
    const std::int64_t number = queue_->add_evaluator("spec of " + name, "digest");
    evaluators_.add(name, number, std::move(place));
    return number;
  }
  void publish(const std::string& path, std::int64_t inode) { world_.files[path] = file(inode); }
  std::string job(const std::string& path, std::int64_t evaluator) const {
    return path + " for " + std::to_string(evaluator);
  }

  TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ =
      store::Store::open(home_.path(), store::OpenMode::create);
  std::unique_ptr<store::JobQueue> queue_ = store::open_home_queue(*store_);
  std::string owner_ = store::new_run_key();
  std::optional<store::RunLock> lock_ = store_->lock_run(owner_);
  FakeEvaluators evaluators_;
  World world_;
};

TEST_F(WatchedSourcesTest, JudgesWhatComesAfterTheStartForEachEvaluator) {
  const std::int64_t a = add("a"), b = add("b");
  publish("/runs/old.pt", 1);
  Watch watch(*this, false);
  EXPECT_THAT(watch.exchange(), IsEmpty());
  EXPECT_THAT(watch.source->known, ElementsAre("/runs/old.pt")) << "it is never read";
  publish("/runs/new.pt", 2);
  watch.find(0, "/runs/new.pt", "new");
  EXPECT_THAT(watch.exchange(), ElementsAre(job("/runs/new.pt", a), job("/runs/new.pt", b)));
}

TEST_F(WatchedSourcesTest, KeepsPlacesAndTheirEvaluatorsApart) {
  world_.places = {"/runs", "/more"};
  const std::int64_t a = add("a", "/runs"), b = add("b", "/more"), c = add("c");
  Watch watch(*this, false);
  publish("/runs/1.pt", 1);
  publish("/more/2.pt", 2);
  watch.find(0, "/runs/1.pt", "1");
  EXPECT_THAT(watch.exchange(), ElementsAre(job("/runs/1.pt", a), job("/runs/1.pt", c)));
  watch.find(1, "/more/2.pt", "2");
  EXPECT_THAT(watch.exchange(), ElementsAre(job("/more/2.pt", b), job("/more/2.pt", c)));
}

TEST_F(WatchedSourcesTest, ALaterWatchKnowsWhatWasSeen) {
  const std::int64_t a = add("a");
  publish("/runs/1.pt", 1);
  {
    Watch watch(*this, true);
    watch.find(0, "/runs/1.pt", "1");
    EXPECT_THAT(watch.exchange(), SizeIs(1));
  }
  publish("/runs/2.pt", 2);
  Watch again(*this, false);
  EXPECT_THAT(again.exchange(), IsEmpty());
  EXPECT_THAT(again.source->known, ElementsAre("/runs/1.pt")) << "the other came meanwhile";
  again.find(0, "/runs/2.pt", "2");
  EXPECT_THAT(again.exchange(), ElementsAre(job("/runs/2.pt", a)));
}

TEST_F(WatchedSourcesTest, AnEvaluatorThatIsAddedLaterAloneGetsTheEarlierOnes) {
  add("a");
  publish("/runs/1.pt", 1);
  {
    Watch watch(*this, true);
    watch.find(0, "/runs/1.pt", "1");
    watch.exchange();
  }
  const std::int64_t b = add("b");
  Watch again(*this, true);
  again.exchange();
  EXPECT_THAT(again.source->known, IsEmpty()) << "it has to be read for the new one";
  again.find(0, "/runs/1.pt", "1");
  EXPECT_THAT(again.exchange(), ElementsAre(job("/runs/1.pt", b)));
}

TEST_F(WatchedSourcesTest, AChangedFileIsAnotherCheckpoint) {
  const std::int64_t a = add("a");
  publish("/runs/1.pt", 1);
  {
    Watch watch(*this, true);
    watch.find(0, "/runs/1.pt", "1");
    watch.exchange();
  }
  publish("/runs/1.pt", 2);
  Watch again(*this, false);
  again.exchange();
  again.find(0, "/runs/1.pt", "another");
  EXPECT_THAT(again.exchange(), ElementsAre(job("/runs/1.pt", a)));
}

TEST_F(WatchedSourcesTest, WaitingJobsOfAnEditedEvaluatorGoToItsNewVersion) {
  evaluators_.add("a", 0);  // for its spec alone
  const std::string spec = evaluators_.all.spec(0);
  const std::int64_t old = queue_->add_evaluator(spec, "first");
  Watch watch(*this, true);
  for (const char* path : {"/runs/1.pt", "/runs/2.pt", "/runs/gone.pt"}) {
    publish(path, std::int64_t{path[6]});
    watch.find(0, path, path);
  }
  store::JobOrders orders = watch.desk.begin({}, {}, {});
  for (store::NewJob& one : orders.additions) one.evaluator = old;
  watch.desk.take(queue_->exchange(orders));
  world_.files.erase("/runs/gone.pt");
  const std::int64_t renewed = queue_->add_evaluator(spec, "second");
  watch.sources->take_over(0, renewed);
  std::vector<std::string> jobs;
  for (const store::Job& one : queue_->jobs()) jobs.push_back(job(one.what.path, one.what.evaluator));
  EXPECT_THAT(jobs, UnorderedElementsAre(job("/runs/1.pt", renewed), job("/runs/2.pt", renewed),
                                         job("/runs/gone.pt", old)));
  watch.sources->take_over(0, renewed);
  EXPECT_THAT(queue_->jobs(), SizeIs(3)) << "doing it again changes nothing";
}

TEST_F(WatchedSourcesTest, PassesOnRemarksAndTheEndOfTheFinder) {
  add("a");
  Watch watch(*this, false);
  watch.sources->take({.remarks = {"a link"}, .is_idle = true, .incomplete = {"/runs/part"}});
  EXPECT_THAT(watch.notes, ElementsAre("a link"));
  EXPECT_TRUE(watch.sources->is_idle());
  EXPECT_THAT(watch.sources->incomplete(), ElementsAre("/runs/part"));
  EXPECT_THROW(watch.sources->take({.failure = "the directory cannot be read"}), Error);
}

}  // namespace
}  // namespace flor::cli
