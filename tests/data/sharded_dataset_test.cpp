// Data sets of which each replica holds a part: dealing, pictures, and replicas that come and go.
#include "support/temporary_directory.h"

#include <flor/data/samplers.h>
#include <flor/data/sharded_dataset.h>
#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <stdio.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace flor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

Example number(std::size_t index) {
  const auto value = static_cast<std::int64_t>(index);
  return {::torch::full({2}, value), ::torch::tensor(value)};
}

DistributedShardedDataset numbers(std::size_t size, ShardOptions options, int* reads = nullptr) {
  return DistributedShardedDataset(
      size,
      [reads](std::size_t index) {
        if (reads) ++*reads;
        return number(index);
      },
      "numbers", std::move(options));
}

// Dealing -----------------------------------------------------------------------------------------

TEST(ShardedDataset, LanesHoldEverySampleExactlyOnce) {
  for (const std::size_t size : {1u, 7u, 24u, 101u}) {
    for (std::uint64_t world = 1; world < 9; ++world) {
      std::vector<std::size_t> all;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const auto held = numbers(size, {.world = world, .rank = rank, .seed = 3}).held();
        all.insert(all.end(), held.begin(), held.end());
      }
      std::ranges::sort(all);
      ASSERT_EQ(all.size(), size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(all[i], i);
    }
  }
}

TEST(ShardedDataset, AChosenShareHoldsAsManyAndNoneTwice) {
  for (const double share : {0.1, 0.25, 0.5, 0.75, 1.0}) {
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
      const auto held = numbers(24, {.world = 4, .rank = rank, .share = share}).held();
      EXPECT_EQ(held.size(), static_cast<std::size_t>(std::ceil(24 * share)));
      EXPECT_EQ(std::set<std::size_t>(held.begin(), held.end()).size(), held.size());
    }
  }
}

TEST(ShardedDataset, DependsOnTheSeedAloneAndLeavesGlobalGeneratorsAlone) {
  ::torch::manual_seed(5);
  const auto expected = ::torch::rand({3});
  ::torch::manual_seed(5);
  const auto a = numbers(50, {.world = 2, .seed = 1}).held();
  EXPECT_EQ(numbers(50, {.world = 2, .seed = 1}).held(), a);
  EXPECT_NE(numbers(50, {.world = 2, .seed = 2}).held(), a);
  EXPECT_THAT(numbers(6, {.world = 2, .rank = 1, .shuffle = Shuffle::none}).held(),
              ElementsAre(1, 3, 5));
  EXPECT_TRUE(::torch::equal(::torch::rand({3}), expected));
}

TEST(ShardedDataset, ReadsAtOnceWhatItHoldsAndTheRestWhenItIsAskedFor) {
  int reads = 0;
  auto data = numbers(10, {.world = 2, .rank = 0, .shuffle = Shuffle::none}, &reads);
  EXPECT_EQ(reads, 5);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(data.get(i).target.item<std::int64_t>(), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(reads, 10);
  EXPECT_EQ(data.reads_beyond(), 5u);
  data.reshard(4, 2);  // 2 and 6 are there already
  EXPECT_EQ(reads, 10);
  EXPECT_THAT(data.held(), ElementsAre(2, 6));
  data.reshard(1, 0);
  EXPECT_EQ(reads, 18);
  EXPECT_THROW(data.get(10), Error);
}

TEST(ShardedDataset, TransformsWhenItLoadsAndWhenItGives) {
  int loads = 0;
  auto data = numbers(4, {.load =
                              [&](Example example) {
                                ++loads;
                                example.data = example.data + 100;
                                return example;
                              },
                          .get =
                              [](Example example) {
                                example.data = example.data * 2;
                                return example;
                              }});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(data.get(3).data[0].item<std::int64_t>(), 206);
  }
  EXPECT_EQ(loads, 4);
}

TEST(ShardedDataset, IsMadeOverAnyDataset) {
  const auto images = ::torch::rand({6, 2});
  auto data = DistributedShardedDataset::over(
      ::torch::data::datasets::TensorDataset(images).map(
          ::torch::data::transforms::Lambda<::torch::data::TensorExample, Example>(
              [](::torch::data::TensorExample example) {
                return Example{example.data, ::torch::zeros({})};
              })),
      "tensors", {.world = 2, .rank = 1});
  EXPECT_EQ(data.held().size(), 3u);
  EXPECT_TRUE(::torch::equal(data.get(4).data, images[4]));
}

TEST(ShardedDataset, RefusesWhatCannotBe) {
  EXPECT_THAT([] { numbers(0, {}); }, ThrowsMessage<Error>(HasSubstr("there are none")));
  EXPECT_THAT([] { numbers(4, {.world = 2, .rank = 2}); },
              ThrowsMessage<Error>(HasSubstr("no rank 2 among 2")));
  for (const double share : {-0.5, 1.5, std::nan("")}) {
    EXPECT_THAT([&] { numbers(4, {.share = share}); },
                ThrowsMessage<Error>(HasSubstr("use a share above 0 and up to 1")));
  }
}

// With the sampler, when replicas come and go
// -------------------------------------------------------

/// What the replicas of one start use, and the state that rank 0 saves.
struct Start {
  std::size_t size;
  std::uint64_t world, epoch, steps;
  std::vector<std::size_t> used = {};
  std::uint64_t beyond = 0;
  std::string state = {};
  std::uint64_t resume_epoch = 0;

  void run(const std::string& from) {
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      auto data = numbers(size, {.world = world, .rank = rank, .seed = 9});
      SampleStream stream({.samples = size,
                           .seed = 9,
                           .tail = Tail::uneven,
                           .sharded = true,
                           .data = data.fingerprint()},
                          world, rank);
      if (!from.empty()) stream.parse(from);
      stream.set_epoch(epoch);
      stream.begin();
      for (std::uint64_t step = 0; step < steps; ++step) {
        const auto batch = stream.next(3);
        if (!batch) break;
        for (const std::size_t sample : *batch) {
          used.push_back(static_cast<std::size_t>(data.get(sample).target.item<std::int64_t>()));
        }
        stream.advance();
      }
      beyond += data.reads_beyond();
      if (rank > 0) continue;
      state = stream.print();
      resume_epoch = stream.resume_epoch();
    }
  }
};

TEST(ShardedDataset, EverySampleIsUsedOnceAnEpochWhateverReplicasComeAndGo) {
  constexpr std::uint64_t kEpochs = 3;
  std::mt19937_64 random(11);
  std::uint64_t samples = 0, beyond = 0, starts = 0, repeated = 0;
  for (int history = 0; history < 200; ++history) {
    const std::size_t size = 1 + random() % 60;
    std::string state;
    std::map<std::uint64_t, std::vector<std::size_t>> used;
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++starts) {
      Start start{.size = size,
                  .world = 1 + random() % 4,
                  .epoch = epoch,
                  .steps = random() % 4 == 0 ? 1000 : random() % 5};
      start.run(state);
      used[epoch].insert(used[epoch].end(), start.used.begin(), start.used.end());
      state = start.state;
      epoch = start.resume_epoch;
      beyond += start.beyond;
    }
    for (auto& [epoch, all] : used) {
      const std::set<std::size_t> different(all.begin(), all.end());
      ASSERT_EQ(different.size(), size);
      // Replicas that would get none of the last samples repeat one: fewer than there are.
      ASSERT_LT(all.size(), size + 4);
      repeated += all.size() - size;
      samples += size;
    }
  }
  std::printf(
      "%lu samples used in 600 epochs and %lu starts, %lu of them twice; %lu were read though not "
      "held\n",
      static_cast<unsigned long>(samples), static_cast<unsigned long>(starts),
      static_cast<unsigned long>(repeated), static_cast<unsigned long>(beyond));
}

// Pictures ----------------------------------------------------------------------------------------

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}
std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_ppm(const fs::path& file, unsigned char value, int side = 2) {
  write(file, "P6\n# a comment\n" + std::to_string(side) + " " + std::to_string(side) + "\n255\n" +
                  std::string(static_cast<std::size_t>(3 * side * side), static_cast<char>(value)));
}
void write_png(const fs::path& file, unsigned format, std::vector<std::uint8_t> pixels,
               unsigned width) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = format;
  image.width = width;
  image.height = static_cast<unsigned>(pixels.size() / PNG_IMAGE_SAMPLE_CHANNELS(format) / width);
  ASSERT_TRUE(png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr));
}
void write_jpeg(const fs::path& file, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(std::fopen(file.c_str(), "wb"), &std::fclose);
  jpeg_stdio_dest(&encoder, out.get());
  encoder.image_width = encoder.image_height = 24;
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 95, TRUE);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<std::uint8_t> row;
  for (int i = 0; i < 24; ++i) row.insert(row.end(), {red, green, blue});
  while (encoder.next_scanline < 24) {
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&encoder, &line, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
}

class ImagesTest : public ::testing::Test {
 protected:
  fs::path at(const std::string& name) const {
    fs::create_directories((directory_ / name).parent_path());
    return directory_ / name;
  }
  const fs::path& root() const { return directory_.path(); }

 private:
  testing::TemporaryDirectory directory_;
};

TEST_F(ImagesTest, PngsAreReadExactly) {
  write_png(at("rgb.png"), PNG_FORMAT_RGB, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2);
  const Image rgb = load_image(at("rgb.png"));
  EXPECT_EQ(rgb.height, 2);
  EXPECT_EQ(rgb.width, 2);
  EXPECT_THAT(rgb.pixels, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  write_png(at("grey.png"), PNG_FORMAT_GRAY, {9, 200}, 2);
  EXPECT_THAT(load_image(at("grey.png")).pixels, ElementsAre(9, 9, 9, 200, 200, 200));
  write_png(at("alpha.png"), PNG_FORMAT_RGBA, {10, 20, 30, 255, 40, 50, 60, 255}, 1);
  EXPECT_THAT(load_image(at("alpha.png")).pixels, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST_F(ImagesTest, JpegsAreReadWithTheirColours) {
  write_jpeg(at("a.jpg"), 200, 30, 90);
  const Image image = load_image(at("a.jpg"));
  EXPECT_EQ(image.height, 24);
  EXPECT_EQ(image.width, 24);
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    ASSERT_NEAR(image.pixels[i], 200, 3);
    ASSERT_NEAR(image.pixels[i + 1], 30, 3);
    ASSERT_NEAR(image.pixels[i + 2], 90, 3);
  }
}

TEST_F(ImagesTest, DamagedAndForeignFilesAreErrorsWithTheirNames) {
  write_jpeg(at("a.jpg"), 1, 2, 3);
  std::vector<std::uint8_t> noise(300);  // which cannot be compressed
  std::mt19937 random(1);
  for (std::uint8_t& value : noise) value = static_cast<std::uint8_t>(random());
  write_png(at("a.png"), PNG_FORMAT_RGB, noise, 10);
  write_ppm(at("a.ppm"), 7, 10);
  for (const char* name : {"a.jpg", "a.png", "a.ppm"}) {
    const std::string whole = read(at(name));
    for (const double part : {0.05, 0.3, 0.6, 0.9}) {
      write(at("cut"), whole.substr(0, static_cast<std::size_t>(double(whole.size()) * part)));
      EXPECT_THAT([&] { load_image(at("cut")); },
                  ThrowsMessage<Error>(HasSubstr("cannot read the picture " + at("cut").string())))
          << name << " " << part;
    }
  }
  write(at("text.png"), "no picture");
  EXPECT_THAT([&] { load_image(at("text.png")); },
              ThrowsMessage<Error>(HasSubstr("it is no JPEG, PNG, PGM or PPM")));
  write(at("huge.ppm"), "P6 99999999 99999999 255\n");
  EXPECT_THAT([&] { load_image(at("huge.ppm")); },
              ThrowsMessage<Error>(HasSubstr("it says that it is 99999999 by 99999999 pixels")));
  EXPECT_THROW(load_image(at("missing.png")), Error);
}

TEST_F(ImagesTest, AFolderHasItsClassesAndFilesSorted) {
  for (const char* name : {"dog/2.ppm", "dog/10.PPM", "cat/deep/a.ppm", "Ant/x.ppm"}) {
    write_ppm(at(name), 1);
  }
  write(at("dog/notes.txt"), "not a picture");
  const ImageFolder folder = find_images(root());
  EXPECT_THAT(folder.classes, ElementsAre("Ant", "cat", "dog"));
  std::vector<std::string> files;
  for (const auto& [file, label] : folder.files) {
    files.push_back(file.lexically_relative(root()).string() + " " + std::to_string(label));
  }
  EXPECT_THAT(files, ElementsAre("Ant/x.ppm 0", "cat/deep/a.ppm 1", "dog/10.PPM 2", "dog/2.ppm 2"));
  write_ppm(at("dog/3.ppm"), 1);
  EXPECT_NE(find_images(root()).fingerprint, folder.fingerprint);
}

TEST_F(ImagesTest, AFolderThatWouldLosePicturesIsRefused) {
  EXPECT_THAT([&] { find_images(root()); },
              ThrowsMessage<Error>(HasSubstr("each class needs one")));
  EXPECT_THAT([&] { find_images(at("none")); }, ThrowsMessage<Error>(HasSubstr("cannot list")));
  fs::create_directory(at("empty"));
  EXPECT_THAT([&] { find_images(root()); }, ThrowsMessage<Error>(HasSubstr("has no pictures")));
  write(at("empty/a.webp"), "RIFF");
  EXPECT_THAT([&] { find_images(root()); },
              ThrowsMessage<Error>(HasSubstr("a picture of a format that is not read (.webp)")));
}

TEST_F(ImagesTest, AShardOfAFolderGivesTensorsThroughALoader) {
  for (int i = 0; i < 12; ++i) {
    write_ppm(at((i % 2 ? "odd/" : "even/") + std::to_string(i) + ".ppm"),
              static_cast<unsigned char>(10 * i));
  }
  auto data = DistributedShardedDataset::of_images(root(), {.world = 2, .rank = 0});
  EXPECT_THAT(data.classes(), ElementsAre("even", "odd"));
  InterruptibleDistributedSampler sampler(
      *data.size(),
      {.world = 2, .rank = 0, .tail = Tail::uneven, .sharded = true, .data = data.fingerprint()});
  const auto loader =
      ::torch::data::make_data_loader(data.map(::torch::data::transforms::Stack<>()), sampler,
                                      ::torch::data::DataLoaderOptions(3).workers(1));
  std::int64_t seen = 0;
  for (const auto& batch : *loader) {
    EXPECT_EQ(batch.data.sizes().slice(1), (std::vector<std::int64_t>{3, 2, 2}));
    for (std::int64_t i = 0; i < batch.data.size(0); ++i) {
      const auto value = std::lround(batch.data[i].max().item<double>() * 255);
      EXPECT_EQ(batch.target[i].item<std::int64_t>(), value / 10 % 2);
    }
    seen += batch.data.size(0);
    sampler.advance();
  }
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(data.reads_beyond(), 0u);  // the sampler asks for what the replica holds
}

}  // namespace
}  // namespace flor
