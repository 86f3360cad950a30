// What runs have read and written, and which runs that connects.
#include "database/store_impl.h"
#include "index/catalog/labels.h"
#include "index/writing.h"
#include "run_fixture.h"

#include <flor/store/used_files.h>

namespace flor::store::used_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UsedFilesTest : public RunTest {
 protected:
  static UsedFile file(FileUse use, const std::string& name, const std::string& content,
                       std::int64_t epoch = -1) {
    UsedFile file;
    file.use = use;
    file.name = name;
    file.place = "/work/" + name;
    file.bytes = content.size();
    file.files = 1;
    file.digest = digest_of(std::as_bytes(std::span(content)));
    file.epoch = epoch;
    return file;
  }
  static UsedFile input(const std::string& name, const std::string& content,
                        std::int64_t epoch = -1) {
    return file(FileUse::input, name, content, epoch);
  }
  static UsedFile output(const std::string& name, const std::string& content) {
    return file(FileUse::output, name, content);
  }
  static Resumption at(std::int64_t epoch, const std::string& loop = {}, std::int64_t step = 0) {
    Resumption resumption;
    resumption.point.iteration = resumption.point.epoch = epoch;
    resumption.point.boundary = true;
    resumption.point.loop = loop;
    resumption.point.step = step;
    return resumption;
  }
  Run add(std::int64_t started_us) {
    NewRun start = new_run();
    start.started_us = started_us;
    return store_->catalog().add_run(start);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const UsedFile& file : files_of(*store_, run_.id)) names.push_back(file.name);
    return names;
  }
  std::vector<std::string> kin(const Run& run, const UsedFile& file) const {
    std::vector<std::string> keys;
    for (const FileKin& one : kin_of(*store_, run.id, file, 10)) keys.push_back(one.run);
    return keys;
  }
};

TEST_F(UsedFilesTest, AreThereAlsoInAnIndexThatIsMadeAgain) {
  const UsedFile read = input("a", "1"), other = input("a", "2", 3), written = output("b", "3");
  for (const UsedFile& each : {read, other, read, output("b", "old"), written}) {
    add_file(*store_, run_.id, each);
  }
  EXPECT_THAT(files_of(*store_, run_.id), ElementsAre(read, other, written));
  store_.reset();
  std::filesystem::remove(home() / "catalog.db");
  store_ = open();
  EXPECT_THAT(files_of(*store_, store_->catalog().runs().at(0).id),
              ElementsAre(read, other, written));
}

TEST_F(UsedFilesTest, ConnectRunsByContentInTheOrderOfTheirTimes) {
  const Run writer = add(1000), again = add(2000), reader = add(3000), early = add(10);
  store_->catalog().finish_run(early.id, 20, false, "");
  for (const Run& run : {writer, again}) add_file(*store_, run.id, output("out", "model"));
  for (const Run& run : {reader, early}) add_file(*store_, run.id, input("in", "model"));
  EXPECT_THAT(kin(reader, input("in", "model")), ElementsAre(again.key, writer.key));
  EXPECT_THAT(kin(writer, output("out", "model")), ElementsAre(reader.key));
  EXPECT_THAT(kin(early, input("in", "model")), IsEmpty());
  EXPECT_THAT(kin(reader, input("in", "another")), IsEmpty());
  // Empty files are all alike.
  add_file(*store_, writer.id, output("empty", ""));
  EXPECT_THAT(kin(reader, input("in", "")), IsEmpty());
  // What a run reads again of its own comes from no other.
  add_file(*store_, writer.id, input("own", "mine"));
  add_file(*store_, writer.id, output("own", "mine"));
  EXPECT_THAT(kin(writer, input("own", "mine")), IsEmpty());
  {
    Writing writing(*store_->impl().database);
    say_label(writing, again.id, LabelKind::removed, "", "1");
    writing.commit();
  }
  EXPECT_THAT(kin(reader, input("in", "model")), ElementsAre(writer.key));
}

TEST_F(UsedFilesTest, OfAKnownSourceComeFromThatRunThoughItIsGone) {
  const Run reader = add(3000);
  UsedFile loaded = input(run_.key + "@3", "state");
  loaded.kind = UsedKind::checkpoint;
  loaded.source = run_.key;
  add_file(*store_, reader.id, loaded);
  EXPECT_THAT(kin(reader, loaded), ElementsAre(run_.key));
  ASSERT_EQ(readers_of(*store_, run_.key, 10).size(), 1u);
  EXPECT_EQ(readers_of(*store_, run_.key, 10)[0].run, reader.key);
  EXPECT_THAT(readers_of(*store_, "", 10), IsEmpty());
  loaded.source = "0123456789abcdef";
  const auto unknown = kin_of(*store_, reader.id, loaded, 10);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].run, loaded.source);
  EXPECT_EQ(unknown[0].experiment, "");
}

TEST_F(UsedFilesTest, AfterThePointOfAResumeAreForgotten) {
  for (const UsedFile& each : {input("start", "0"), input("one", "1", 1), input("two", "2", 2)}) {
    add_file(*store_, run_.id, each);
  }
  store_->catalog().resume_run(run_.id, at(2, "train", 1));
  EXPECT_THAT(names(), ElementsAre("one", "start", "two"));
  store_->catalog().resume_run(run_.id, at(2));
  EXPECT_THAT(names(), ElementsAre("one", "start"));
  store_->catalog().resume_run(run_.id, at(0));
  EXPECT_THAT(names(), ElementsAre("start"));
}

}  // namespace
}  // namespace flor::store::used_files_test
