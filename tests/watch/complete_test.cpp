// Checkpoints that are written piece by piece: complete when the last piece is there, not before.
#include "checkpoint/transfer.h"
#include "file/new_file.h"
#include "store/store_fixture.h"
#include "support/temporary_directory.h"
#include "watch/evaluators/complete_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

template <typename Integer>
std::string little(Integer value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// The archive as torch.save writes it: with the record and the locator of zip64, and full fields
/// in the record of old.
std::string with_zip64(std::string zip) {
  const std::size_t end = zip.size() - 22;
  std::uint16_t entries = 0;
  std::uint32_t bytes = 0, offset = 0;
  std::memcpy(&entries, &zip[end + 10], 2);
  std::memcpy(&bytes, &zip[end + 12], 4);
  std::memcpy(&offset, &zip[end + 16], 4);
  std::string old = zip.substr(end);
  old.replace(8, 12, std::string(12, '\xff'));
  zip.resize(end);
  zip += "PK\x06\x06" + little(std::uint64_t{44}) + little(std::uint32_t{0x002D002D});
  zip += little(std::uint64_t{0}) + little(std::uint64_t{entries}) + little(std::uint64_t{entries});
  zip += little(std::uint64_t{bytes}) + little(std::uint64_t{offset});
  zip += "PK\x06\x07" + little(std::uint32_t{0}) + little(std::uint64_t{end});
  return zip + little(std::uint32_t{1}) + old;
}

class CompleteTest : public store::StoreTest {
 protected:
  CompleteTest() { ::signal(SIGIO, SIG_IGN); }

  fs::path path(const std::string& name) const { return directory_ / name; }

  std::string torch_archive() {
    const auto opened = open();
    const auto run = opened->catalog().add_run(store::new_run());
    store::CheckpointWriter writer(*opened, run.id);
    const auto id = writer.write(store::boundary(0), store::make_snapshot(1, 1, 500)).id;
    const store::CheckpointReader reader(*opened, id);
    const std::vector<store::ArchivedTensor> tensors{{"weight", 0}};
    store::write_torch_archive(*opened, reader, tensors, path("model.pt"));
    return read_file(path("model.pt"));
  }
  std::string safetensors() {
    store::write_safetensors(store::make_snapshot(1, 1, 500), path("model.safetensors"), {});
    return read_file(path("model.safetensors"));
  }

  /// Every beginning of the content is partial, and all of it is whole.
  void expect_whole_at_the_end_only(const std::string& name, const std::string& content) {
    for (std::size_t bytes = 0;
         bytes<content.size(); bytes += bytes + 300> content.size() ? 1 : 97) {
      write_file(path(name), content.substr(0, bytes));
      ASSERT_EQ(examine(path(name)), Wholeness::partial)
          << name << ": " << bytes << " of " << content.size() << " bytes";
    }
    write_file(path(name), content);
    EXPECT_EQ(examine(path(name)), Wholeness::whole) << name;
  }
};

TEST_F(CompleteTest, AnArchiveOfTorchIsWholeWhenItsDirectoryIsThere) {
  const std::string zip = torch_archive();
  for (const char* name : {"a.pt", "a.pth", "a.ckpt", "a.model", "a.state"}) {
    expect_whole_at_the_end_only(name, zip);
    expect_whole_at_the_end_only(name, with_zip64(zip));
  }
}

TEST_F(CompleteTest, AnArchiveWhoseEndCameFirstIsPartialUntilItsEntriesAreThere) {
  std::string zip = torch_archive();
  const std::size_t second = zip.find("PK\x03\x04", 4);
  ASSERT_NE(second, zip.npos);
  zip.replace(second, 4, std::string(4, '\0'));
  write_file(path("a.pt"), zip);
  EXPECT_EQ(examine(path("a.pt")), Wholeness::partial);
}

TEST_F(CompleteTest, AFileOfSafetensorsIsWholeWhenItHasTheLengthThatItSays) {
  const std::string content = safetensors();
  expect_whole_at_the_end_only("b.safetensors", content);
  write_file(path("b.safetensors"), content + "x");
  EXPECT_EQ(examine(path("b.safetensors")), Wholeness::partial) << "something else follows";
  write_file(path("b.safetensors"), little(std::uint64_t{2}) + "[]" + content);
  EXPECT_EQ(examine(path("b.safetensors")), Wholeness::partial) << "no such header";
}

TEST_F(CompleteTest, NumbersThatLieAreNeverTakenForAWholeFile) {
  const auto file = [&](const std::string& end) {
    const std::string header = R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,)" + end + "]}}";
    return little(std::uint64_t{header.size()}) + header + "abcd";
  };
  write_file(path("e.safetensors"), file("4"));
  ASSERT_EQ(examine(path("e.safetensors")), Wholeness::whole);
  // 2^64 - 8 - header: added up, the length of the file would be 0.
  for (const char* end : {"18446744073709551615", "18446744073709551556", "18446744073709551620",
                          "-1", "4.0", "1e300", "\"4\"", "null", "[]"}) {
    write_file(path("e.safetensors"), file(end));
    EXPECT_EQ(examine(path("e.safetensors")), Wholeness::partial) << end;
  }
  for (const std::uint64_t length :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63}) {
    write_file(path("e.safetensors"), little(length) + "{}abcd");
    EXPECT_EQ(examine(path("e.safetensors")), Wholeness::partial) << length;
  }
  const std::string zip = with_zip64(torch_archive());
  const std::size_t record = zip.find("PK\x06\x06"), locator = zip.find("PK\x06\x07");
  for (const std::size_t at : {record + 40, record + 48, locator + 8}) {
    for (const std::uint64_t lie :
         {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40}) {
      std::string damaged = zip;
      damaged.replace(at, 8, little(lie));
      write_file(path("e.pt"), damaged);
      EXPECT_EQ(examine(path("e.pt")), Wholeness::partial) << at << " " << lie;
    }
  }
}

TEST_F(CompleteTest, WhatHasNoFormIsUnknownUnlessItIsEmptyOrGone) {
  EXPECT_EQ(examine(path("gone.pt")), Wholeness::partial);
  write_file(path("c.pt"), "");
  EXPECT_EQ(examine(path("c.pt")), Wholeness::partial);
  write_file(path("c.pt"), "\x80\x02 as Python pickled it long ago");
  EXPECT_EQ(examine(path("c.pt")), Wholeness::unknown);
}

TEST_F(CompleteTest, ADirectoryIsWholeWithAMarkerAndPartialWithAPartOfAFile) {
  const fs::path step = path("step_5");
  fs::create_directories(step);
  EXPECT_EQ(examine(step), Wholeness::partial) << "empty";
  const std::string tensors = safetensors();
  write_file(step / "rank0/model.safetensors", tensors.substr(0, tensors.size() - 1));
  EXPECT_EQ(examine(step), Wholeness::partial);
  write_file(step / "rank0/model.safetensors", tensors);
  EXPECT_EQ(examine(step), Wholeness::unknown);
  write_file(step / "state.json.tmp", "{}");
  EXPECT_EQ(examine(step), Wholeness::partial);
  fs::rename(step / "state.json.tmp", step / "state.json");
  for (const char* marker : directory_markers()) {
    EXPECT_EQ(examine(step), Wholeness::unknown);
    write_file(step / marker, "");
    EXPECT_EQ(examine(step), Wholeness::whole) << marker;
    EXPECT_EQ(examine(step, "done"), Wholeness::partial) << "another marker is wanted";
    fs::remove(step / marker);
  }
  write_file(step / "done", "");
  EXPECT_EQ(examine(step, "done"), Wholeness::whole);
}

TEST_F(CompleteTest, ADirectoryWithAnIndexIsWholeWhenAllItsShardsAre) {
  const fs::path hub = path("checkpoint-100");
  const std::string tensors = safetensors();
  write_file(hub / "model-1.safetensors", tensors);
  const std::string index =
      R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})";
  for (std::size_t bytes = 0; bytes < index.size(); ++bytes) {
    write_file(hub / "model.safetensors.index.json", index.substr(0, bytes));
    ASSERT_EQ(examine(hub), Wholeness::partial);
  }
  write_file(hub / "model.safetensors.index.json", index);
  EXPECT_EQ(examine(hub), Wholeness::partial) << "the second shard is not there";
  write_file(hub / "model-2.safetensors", tensors.substr(0, 100));
  EXPECT_EQ(examine(hub), Wholeness::partial);
  write_file(hub / "model-2.safetensors", tensors);
  EXPECT_EQ(examine(hub), Wholeness::whole);
}

TEST_F(CompleteTest, AFileThatIsOpenForWritingIsBeingWritten) {
  write_file(path("d/model.pt"), "something");
  EXPECT_FALSE(is_being_written(path("d/model.pt")));
  const int descriptor = ::open(path("d/model.pt").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_TRUE(is_being_written(path("d/model.pt")));
  EXPECT_TRUE(is_being_written(path("d")));
  ::close(descriptor);
  EXPECT_FALSE(is_being_written(path("d/model.pt")));
  EXPECT_FALSE(is_being_written(path("d")));
}

TEST_F(CompleteTest, EveryChangeOfADirectoryShowsInItsIdentityAndItsDigest) {
  const fs::path step = path("step_5");
  write_file(step / "a", "1");
  write_file(step / "sub/b", "2");
  const auto before = identify(step);
  const auto digest = content_digest(step);
  ASSERT_TRUE(before && digest);
  EXPECT_EQ(before->bytes, 2);
  EXPECT_EQ(identify(step), before);
  write_file(step / "sub/b", "23");
  EXPECT_NE(identify(step), before);
  EXPECT_NE(content_digest(step), digest);
  write_file(step / "sub/b", "2");
  EXPECT_EQ(content_digest(step), digest) << "the content counts, not the time";
  fs::rename(step / "sub/b", step / "sub/c");
  EXPECT_NE(content_digest(step), digest);
  EXPECT_EQ(identify(path("gone")), std::nullopt);
  EXPECT_EQ(content_digest(path("gone")), std::nullopt);
  EXPECT_EQ(content_digest(step / "a"), store::digest_of(std::as_bytes(std::span("1", 1))));
}

TEST(Complete, TheTableOfWhatIsKnownDecides) {
  struct Row {
    Wholeness form;
    bool being_written, published;
    seconds unchanged;
    bool complete;
  };
  const Row rows[] = {
      {Wholeness::whole, false, false, seconds(0), true},
      {Wholeness::whole, true, true, seconds(9), false},
      {Wholeness::partial, false, true, seconds(9), false},
      {Wholeness::unknown, false, true, seconds(0), true},
      {Wholeness::unknown, false, false, seconds(1), false},
      {Wholeness::unknown, false, false, seconds(2), true},
      {Wholeness::unknown, true, true, seconds(9), false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_complete({row.form, row.being_written, row.published, row.unchanged}, seconds(2)),
              row.complete);
  }
}

}  // namespace
}  // namespace flor::cli
