// Checkpoints as files of other tools, read back by Flor and by readers that share no code with it.
#include "checkpoint/transfer.h"
#include "store_fixture.h"
#include "support/process.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

namespace flor::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void put_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

template <typename T>
T at(const std::string& file, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), file.size());
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

/// A file with this header and this data.
std::string safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

class ExportTest : public StoreTest {
 protected:
  /// One item of each type, a scalar, an empty tensor, bytes, and one of several chunks.
  Snapshot everything() {
    Snapshot snapshot = bytes_snapshot("random/cpu", random_bytes(1, 5000));
    for (unsigned type = 0; type <= 12; ++type) {
      const auto element = static_cast<ElementType>(type);
      if (element == ElementType::bytes) continue;
      add(snapshot, "model/" + std::string(to_string(element)), element, {3, 5});
    }
    add(snapshot, "optimizer/step", ElementType::i64, {});
    add(snapshot, "model/none", ElementType::f32, {0, 7});
    add(snapshot, "model/large", ElementType::f32, {1000, 700});
    return snapshot;
  }

  static void add(Snapshot& snapshot, const std::string& name, ElementType type,
                  std::vector<std::int64_t> sizes) {
    std::size_t bytes = element_size(type);
    for (const std::int64_t size : sizes) bytes *= static_cast<std::size_t>(size);
    SnapshotItem item =
        bytes_snapshot(name, random_bytes(static_cast<unsigned>(name.size()), bytes)).items[0];
    item.item.type = type;
    item.item.sizes = std::move(sizes);
    snapshot.items.push_back(std::move(item));
  }

  std::int64_t write(Store& store, const Snapshot& snapshot) {
    const Run run = store.catalog().add_run(new_run());
    return CheckpointWriter(store, run.id).write(boundary(1), snapshot).id;
  }

  std::string error_of(const std::string& content) {
    put_file(directory_ / "bad.safetensors", content);
    return message_of<UsageError>([&] { read_safetensors(directory_ / "bad.safetensors"); });
  }

  std::filesystem::path file_ = directory_ / "state.safetensors";
};

TEST_F(ExportTest, ASafetensorsFileComesBackBitForBit) {
  const auto store = open();
  const Snapshot snapshot = everything();
  const std::int64_t id = write(*store, snapshot);
  const ExportReport report = write_safetensors(*store, id, file_, {{"flor.run", "x"}});
  EXPECT_EQ(report.tensors, 15);
  EXPECT_EQ(report.others, 1);
  EXPECT_EQ(report.bytes, std::filesystem::file_size(file_));
  const Snapshot back = read_safetensors(file_);
  expect_holds(*store, write(*store, back), snapshot);
  expect_holds(*store, id, back);
  // Nothing else is left in the directory.
  const std::filesystem::directory_iterator entries(directory_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
}

TEST_F(ExportTest, ASafetensorsFileIsWhatTheFormatSays) {
  const auto store = open();
  const Snapshot snapshot = everything();
  write_safetensors(*store, write(*store, snapshot), file_, {{"flor.run", "x"}});
  const std::string file = slurp(file_);
  const auto length = at<std::uint64_t>(file, 0);
  EXPECT_EQ(length % 8, 0u);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  const std::map<std::string, std::pair<std::string, std::size_t>> dtypes{
      {"model/boolean", {"BOOL", 1}}, {"model/u8", {"U8", 1}},     {"model/i8", {"I8", 1}},
      {"model/i16", {"I16", 2}},      {"model/i32", {"I32", 4}},   {"model/i64", {"I64", 8}},
      {"model/f16", {"F16", 2}},      {"model/bf16", {"BF16", 2}}, {"model/f32", {"F32", 4}},
      {"model/f64", {"F64", 8}},      {"model/c64", {"F32", 4}},   {"model/c128", {"F64", 8}}};
  std::map<std::uint64_t, std::uint64_t> places;
  for (const SnapshotItem& item : snapshot.items) {
    if (item.item.type == ElementType::bytes) continue;
    ASSERT_TRUE(header.contains(item.item.name)) << item.item.name;
    const auto& entry = header[item.item.name];
    const std::uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    ASSERT_EQ(end - begin, item.item.bytes);
    ASSERT_LE(8 + length + end, file.size());
    if (end == begin) continue;
    EXPECT_EQ(std::memcmp(file.data() + 8 + length + begin, item.content.get(), end - begin), 0);
    places[begin] = end;
    if (const auto dtype = dtypes.find(item.item.name); dtype != dtypes.end()) {
      EXPECT_EQ(entry["dtype"], dtype->second.first) << item.item.name;
      EXPECT_EQ((8 + length + begin) % dtype->second.second, 0u) << item.item.name;
    }
  }
  EXPECT_EQ(header["model/f32"]["shape"], nlohmann::json({3, 5}));
  EXPECT_EQ(header["model/c64"]["shape"], nlohmann::json({3, 5, 2}));
  EXPECT_EQ(header["optimizer/step"]["shape"], nlohmann::json::array());
  std::uint64_t next = 0;
  for (const auto& [begin, end] : places) {
    EXPECT_EQ(begin, next);
    next = end;
  }
  EXPECT_EQ(8 + length + next, file.size());
  EXPECT_EQ(header["__metadata__"]["flor.run"], "x");
  for (const auto& [key, value] : header["__metadata__"].items()) EXPECT_TRUE(value.is_string());
}

TEST_F(ExportTest, AFileOfAnotherOriginIsRead) {
  put_file(file_, safetensors(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},)"
                              R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )",
                              "abcdef"));
  const Snapshot snapshot = read_safetensors(file_);
  ASSERT_THAT(snapshot.items, SizeIs(2));
  EXPECT_EQ(snapshot.items[0].item, (Item{"b", ElementType::u8, {2}, 2}));
  EXPECT_EQ(std::memcmp(snapshot.items[0].content.get(), "ef", 2), 0);
  EXPECT_EQ(snapshot.items[1].item, (Item{"a", ElementType::f32, {1}, 4}));
}

TEST_F(ExportTest, WhatIsNoSuchFileIsRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("too short"));
  EXPECT_THAT(error_of("PK\x03\x04 and so on, a zip file"), HasSubstr("longer than the file"));
  EXPECT_THAT(error_of(safetensors("[]", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of(safetensors("{\"a\":", "")), HasSubstr("not what the format says"));
  EXPECT_THAT(error_of(safetensors(R"({"a":{"dtype":"F32","shape":[1]}})", "abcd")),
              HasSubstr("not what the format says"));
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return safetensors(std::string(R"({"a":{"dtype":")") + dtype + R"(","shape":)" + shape +
                           R"(,"data_offsets":)" + offsets + "}}",
                       "abcd");
  };
  EXPECT_EQ(error_of(tensor("F8_E4M3", "[4]", "[0,4]")),
            (directory_ / "bad.safetensors").string() +
                " is no .safetensors file: 'a' has the type F8_E4M3, which Flor does not know");
  EXPECT_THAT(error_of(tensor("F32", "[2]", "[0,8]")), HasSubstr("cut off"));
  EXPECT_THAT(error_of(tensor("F32", "[2]", "[0,4]")), HasSubstr("as its shape wants"));
  EXPECT_THAT(error_of(tensor("F32", "[4611686018427387904]", "[0,4]")),
              HasSubstr("as its shape wants"));
  EXPECT_THAT(error_of(tensor("F32", "[-1]", "[0,4]")), HasSubstr("as its shape wants"));
  EXPECT_THAT(error_of(tensor("U8", "[2]", "[0,2]")), HasSubstr("do not fill it"));
  const auto pair = [](const char* a, const char* b) {
    const auto entry = [](const char* offsets) {
      return std::string(R"({"dtype":"U8","shape":[2],"data_offsets":)") + offsets + "}";
    };
    return safetensors("{\"a\":" + entry(a) + ",\"b\":" + entry(b) + "}", "abcd");
  };
  EXPECT_THAT(error_of(pair("[0,2]", "[1,3]")), HasSubstr("'b' overlaps another tensor"));
  EXPECT_THAT(error_of(pair("[0,2]", "[0,2]")), HasSubstr("overlaps another tensor"));
  EXPECT_THAT(error_of(pair("[1,3]", "[2,4]")), HasSubstr("before 'a' are bytes of no tensor"));
}

TEST_F(ExportTest, AFileThatDescribesMoreThanItHoldsTakesNoMemory) {
  std::string header = "{";
  for (int i = 0; i < 2000; ++i) {
    header +=
        fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[50000000],"data_offsets":[0,50000000]}})",
                    i ? "," : "", i);
  }
  const auto file = directory_ / "bad.safetensors";
  put_file(file, safetensors(header + "}", ""));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 50'000'000);
  EXPECT_THAT(message_of<UsageError>([&] { read_safetensors(file); }),
              HasSubstr("overlaps another tensor"));
}

/// All items under their own names.
ExportReport archive(const Store& store, std::int64_t checkpoint, const std::filesystem::path& file,
                     const std::stop_token& stop = {}) {
  const CheckpointReader reader(store, checkpoint);
  std::vector<ArchivedTensor> tensors;
  for (std::size_t i = 0; i < reader.items().size(); ++i) {
    tensors.push_back({reader.items()[i].name, i});
  }
  return write_torch_archive(store, reader, tensors, file, stop);
}

TEST_F(ExportTest, AFileThatCannotBeWrittenLeavesNothing) {
  const auto store = open();
  const std::int64_t id = write(*store, everything());
  EXPECT_THAT(
      message_of<Error>([&] { write_safetensors(*store, id, directory_ / "no" / "x", {}); }),
      HasSubstr("No such file or directory"));
  std::filesystem::create_directory(directory_ / "is.pt");
  std::filesystem::create_directory(directory_ / "is.pt" / "full");
  EXPECT_THAT(message_of<Error>([&] { archive(*store, id, directory_ / "is.pt"); }),
              HasSubstr("cannot create"));
  const std::filesystem::directory_iterator entries(directory_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);  // the store and is.pt
}

TEST_F(ExportTest, OneThatIsNotWantedAnyMoreEndsAndLeavesNothing) {
  const auto store = open();
  const std::int64_t id = write(*store, everything());
  std::stop_source stop;
  stop.request_stop();
  const auto token = stop.get_token();
  for (const char* name : {"is.pt", "is.safetensors"}) {
    const bool torch = std::string(name) == "is.pt";
    EXPECT_THAT(message_of<Error>([&] {
                  torch ? archive(*store, id, directory_ / name, token)
                        : write_safetensors(*store, id, directory_ / name, {}, token);
                }),
                HasSubstr("not wanted any more"));
  }
  const std::filesystem::directory_iterator entries(directory_.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);  // the store
}

/// Contents by name, from the local headers alone.
std::map<std::string, std::string> unzip(const std::string& file) {
  std::map<std::string, std::string> entries;
  std::size_t next = 0;
  while (at<std::uint32_t>(file, next) == 0x04034B50) {
    const auto size = at<std::uint32_t>(file, next + 18);
    const auto name = at<std::uint16_t>(file, next + 26);
    const auto start = next + 30 + name + at<std::uint16_t>(file, next + 28);
    EXPECT_EQ(at<std::uint16_t>(file, next + 8), 0) << "not stored as it is";
    EXPECT_EQ(start % 64, 0u);
    entries[file.substr(next + 30, name)] = file.substr(start, size);
    next = start + size;
  }
  EXPECT_EQ(at<std::uint32_t>(file, next), 0x02014B50u);
  EXPECT_EQ(at<std::uint32_t>(file, file.size() - 22), 0x06054B50u);
  EXPECT_EQ(at<std::uint16_t>(file, file.size() - 12), entries.size());
  EXPECT_EQ(at<std::uint32_t>(file, file.size() - 6), next);
  return entries;
}

TEST_F(ExportTest, ATorchArchiveHoldsEveryItemAndAPickleThatNamesThem) {
  const auto store = open();
  const Snapshot snapshot = everything();
  const ExportReport report = archive(*store, write(*store, snapshot), directory_ / "state.pt");
  EXPECT_EQ(report.tensors, 15);
  EXPECT_EQ(report.others, 1);
  const auto entries = unzip(slurp(directory_ / "state.pt"));
  EXPECT_EQ(entries.at("archive/version"), "3\n");
  const std::string& pickle = entries.at("archive/data.pkl");
  for (std::size_t i = 0; i < snapshot.items.size(); ++i) {
    const SnapshotItem& item = snapshot.items[i];
    const std::string& data = entries.at("archive/data/" + std::to_string(i));
    ASSERT_EQ(data.size(), item.item.bytes);
    if (item.item.bytes == 0) continue;
    EXPECT_EQ(std::memcmp(data.data(), item.content.get(), data.size()), 0);
    EXPECT_THAT(pickle, HasSubstr(item.item.name));
  }
  EXPECT_THAT(pickle, HasSubstr("torch._utils\n_rebuild_tensor_v2\n"));
  EXPECT_THAT(pickle, HasSubstr("ComplexDoubleStorage"));
}

TEST_F(ExportTest, NamesOfOneTensorShareItsMemoryInATorchArchive) {
  const auto store = open();
  const std::int64_t id = write(*store, everything());
  const CheckpointReader reader(*store, id);
  const auto tensor = static_cast<std::size_t>(
      std::ranges::find_if(reader.items(),
                           [](const Item& item) { return item.type == ElementType::f32; }) -
      reader.items().begin());
  const std::vector<ArchivedTensor> tensors{{"encoder.weight", tensor}, {"decoder.weight", tensor}};
  EXPECT_EQ(write_torch_archive(*store, reader, tensors, directory_ / "state.pt").tensors, 2);
  const auto entries = unzip(slurp(directory_ / "state.pt"));
  EXPECT_EQ(entries.size(), 4u) << "the pickle, the byte order, the version and one tensor";
  EXPECT_THAT(entries.at("archive/data.pkl"),
              AllOf(HasSubstr("encoder.weight"), HasSubstr("decoder.weight")));
}

/// What `python3` prints when it runs the script: the distribution's interpreter first, which sees
/// the distribution's packages.
testing::ProcessResult python(const std::string& script, std::vector<std::string> arguments) {
  const bool packaged = std::filesystem::exists("/usr/bin/python3");
  std::vector<std::string> command = {packaged ? "/usr/bin/python3" : "python3", "-c", script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return testing::Process(std::move(command), {}).wait();
}

/// Each item as "name type [sizes,] the bytes in hex", in the order of the snapshot.
std::string listing(const Snapshot& snapshot) {
  std::string text;
  for (const auto& [item, content, parts] : snapshot.items) {
    const bool plain = item.type == ElementType::bytes;
    std::string sizes = plain ? std::to_string(item.bytes) + "," : "";
    for (const std::int64_t size : item.sizes) sizes += std::to_string(size) + ",";
    text += fmt::format("{} {} [{}] ", item.name, plain ? "u8" : to_string(item.type), sizes);
    for (std::size_t i = 0; i < item.bytes; ++i) {
      text += fmt::format("{:02x}", std::to_integer<unsigned>(content.get()[i]));
    }
    text += '\n';
  }
  return text;
}

TEST_F(ExportTest, PythonsTorchReadsEveryItemBitForBit) {
  if (python("import torch", {}).status != 0) {
    GTEST_SKIP() << "needs Python's torch (Debian: python3-torch) to read the file with";
  }
  const auto store = open();
  const Snapshot snapshot = everything();
  archive(*store, write(*store, snapshot), directory_ / "state.pt");
  const testing::ProcessResult read = python(R"(
import sys, torch
names = {torch.float32: 'f32', torch.float64: 'f64', torch.float16: 'f16', torch.bfloat16: 'bf16',
         torch.int8: 'i8', torch.int16: 'i16', torch.int32: 'i32', torch.int64: 'i64',
         torch.uint8: 'u8', torch.bool: 'bool', torch.complex64: 'c64', torch.complex128: 'c128'}
for name, value in torch.load(sys.argv[1]).items():
    content = bytes(value.contiguous().view(-1).view(torch.uint8).tolist())
    sizes = ''.join(f'{size},' for size in value.shape)
    print(f'{name} {names[value.dtype]} [{sizes}] {content.hex()}')
)",
                                             {(directory_ / "state.pt").string()});
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_EQ(read.out, listing(snapshot));
}

}  // namespace
}  // namespace flor::store
