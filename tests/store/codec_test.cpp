// The codec: what goes in comes out bit for bit, every form is reached and keeps its meaning, and
// no payload, however it was damaged, makes decoding leave its memory.
#include "codec/codec.h"
#include "codec/codec_forms.h"
#include "store/codec_golden.h"
#include "store/codec_material.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <ostream>
#include <string>

namespace flor::store {

void PrintTo(ElementType type, std::ostream* out) { *out << to_string(type); }

namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::Material;

constexpr std::array kAllTypes = {
    ElementType::bytes, ElementType::boolean, ElementType::u8,  ElementType::i8,
    ElementType::i16,   ElementType::i32,     ElementType::i64, ElementType::f16,
    ElementType::bf16,  ElementType::f32,     ElementType::f64, ElementType::c64,
    ElementType::c128,
};
constexpr std::array kFloatTypes = {ElementType::f16, ElementType::bf16, ElementType::f32,
                                    ElementType::f64, ElementType::c64,  ElementType::c128};

struct Payload {
  Form form = Form::raw;
  Bytes bytes;
};

Payload encoded(const Material& material) {
  CodecContext context;
  Payload payload;
  const Encoded result = encode(context, material.type, material.raw, material.base, payload.bytes);
  payload.form = static_cast<Form>(result.codec);
  EXPECT_EQ(result.uses_base, needs_base(payload.form));
  EXPECT_LE(payload.bytes.size(), material.raw.size());
  return payload;
}

// The spans end where allocations of their own end, so that a sanitizer sees any step beyond.
Bytes decoded(const Material& material, const Payload& payload) {
  const auto tight = [](const Bytes& bytes) {
    auto memory = std::make_unique<std::byte[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), memory.get());
    return memory;
  };
  const auto bytes = tight(payload.bytes);
  const auto base = tight(material.base);
  auto raw = std::make_unique<std::byte[]>(material.raw.size());
  const std::size_t base_size = needs_base(payload.form) ? material.base.size() : 0;
  CodecContext context;
  decode(context, static_cast<std::uint8_t>(payload.form), material.type,
         {bytes.get(), payload.bytes.size()}, {base.get(), base_size},
         {raw.get(), material.raw.size()});
  const Bytes plain{raw.get(), raw.get() + material.raw.size()};
  const Digest digest =
      decode_and_digest(context, static_cast<std::uint8_t>(payload.form), material.type,
                        {bytes.get(), payload.bytes.size()}, {base.get(), base_size},
                        {raw.get(), material.raw.size()});
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), raw.get()));
  EXPECT_EQ(digest, digest_of(plain));
  return plain;
}

void expect_round_trip(const Material& material) {
  const Payload payload = encoded(material);
  EXPECT_TRUE(decoded(material, payload) == material.raw)
      << to_string(material.type) << " of " << material.raw.size() << " bytes, codec "
      << static_cast<int>(payload.form);
}

// ---- round trips --------------------------------------------------------------------------------

RC_GTEST_PROP(Codec, GivesBackAnyBytesOfAnyType, (const std::vector<std::uint8_t>& raw)) {
  const auto type = *rc::gen::elementOf(kAllTypes);
  Material material{type, bytes_of(raw), {}};
  RC_ASSERT(decoded(material, encoded(material)) == material.raw);
}

RC_GTEST_PROP(Codec, GivesBackAnyBytesWithAnyBase, ()) {
  const auto type = *rc::gen::elementOf(kAllTypes);
  const auto size = *rc::gen::inRange<std::size_t>(0, 2000);
  const auto raw =
      *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>());
  const auto base =
      *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>());
  const Material material{type, bytes_of(raw), bytes_of(base)};
  RC_ASSERT(decoded(material, encoded(material)) == material.raw);
}

RC_GTEST_PROP(Codec, GivesBackWhatLooksLikeTensorsWithSomeWordsReplaced, ()) {
  const auto type = *rc::gen::elementOf(kFloatTypes);
  const auto count = *rc::gen::inRange<std::size_t>(1, 6000);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto exponent = *rc::gen::inRange(-24, 2);
  Material material = *rc::gen::element(
      testing::weights(type, count, seed),
      testing::stepped_weights(type, count, std::ldexp(1.0, exponent), seed),
      testing::scaled_values(type, count, std::ldexp(1.0, exponent), seed),
      testing::redrawn_values(type, count, seed), testing::few_changes(type, count, seed),
      testing::thinned_weights(type, count, seed));
  const auto disturbed = *rc::gen::inRange<std::size_t>(0, 20);
  for (std::size_t i = 0; i < disturbed; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, material.raw.size());
    material.raw[at] = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  }
  material.raw.resize(material.raw.size() - *rc::gen::inRange<std::size_t>(0, 2));
  if (!material.base.empty()) material.base.resize(material.raw.size());
  RC_ASSERT(decoded(material, encoded(material)) == material.raw);
}

TEST(Codec, GivesBackEveryLengthUpToThreeHundred) {
  for (const ElementType type : kAllTypes) {
    const Bytes noise = testing::noise_bytes(300, 7);
    for (std::size_t size = 0; size <= noise.size(); ++size) {
      Material material{type, Bytes(noise.begin(), noise.begin() + static_cast<long>(size)), {}};
      expect_round_trip(material);
      material.base = material.raw;
      if (size > 0) material.base[size / 2] ^= std::byte{4};
      expect_round_trip(material);
      std::fill(material.raw.begin(), material.raw.end(), std::byte{9});
      expect_round_trip(material);
    }
  }
}

TEST(Codec, GivesBackWholeChunks) {
  for (const ElementType type : kFloatTypes) {
    const std::size_t count = kChunkBytes / word_shape(type).width;
    expect_round_trip(testing::weights(type, count));
    expect_round_trip(testing::stepped_weights(type, count, 1e-4));
    expect_round_trip(testing::scaled_values(type, count, 1e-3));
    expect_round_trip(testing::few_changes(type, count));
  }
  expect_round_trip({ElementType::f32, testing::noise_bytes(kChunkBytes, 1),
                     testing::noise_bytes(kChunkBytes, 2)});
}

template <class Word>
void expect_special_values(ElementType type, unsigned mantissa_bits) {
  constexpr unsigned kBits = std::numeric_limits<Word>::digits;
  const Word sign = static_cast<Word>(Word{1} << (kBits - 1));
  const Word quiet = static_cast<Word>(Word{1} << (mantissa_bits - 1));
  const Word infinity = static_cast<Word>(sign - (Word{1} << mantissa_bits));
  const std::vector<Word> special = {0,
                                     1,
                                     2,
                                     quiet,
                                     sign,
                                     static_cast<Word>(sign | 1),
                                     infinity,
                                     static_cast<Word>(sign | infinity),
                                     static_cast<Word>(infinity | quiet),
                                     static_cast<Word>(infinity | 1),
                                     static_cast<Word>(infinity | quiet | 5),
                                     static_cast<Word>(sign | infinity | quiet | 77),
                                     static_cast<Word>(infinity - 1),
                                     std::numeric_limits<Word>::max()};
  Material material = testing::scaled_values(type, 5000, 1e-3);
  testing::Noise noise(11);
  const auto scatter = [&](Bytes& bytes) {
    for (int i = 0; i < 300; ++i) {
      const Word word = special[noise.below(special.size())];
      std::memcpy(&bytes[noise.below(bytes.size() / sizeof(Word)) * sizeof(Word)], &word,
                  sizeof(Word));
    }
  };
  scatter(material.raw);
  expect_round_trip(material);
  scatter(material.base);
  expect_round_trip(material);
  material.base.clear();
  expect_round_trip(material);
}

// Short and long differences are taken out of the bits in different ways.
TEST(Codec, GivesBackSmallStepsAmongChangesOfTheSign) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f64}) {
    const std::size_t width = element_size(type);
    for (const std::size_t distance : {2, 15, 16, 17, 40, 1000, 5000}) {
      Material material = flor::testing::stepped_weights(type, 20'000, 1e-4);
      for (std::size_t i = distance; i <= 20'000; i += distance) {
        material.raw[i * width - 1] ^= std::byte{0x80};
      }
      EXPECT_TRUE(needs_base(encoded(material).form)) << distance;
      expect_round_trip(material);
    }
  }
}

TEST(Codec, KeepsNanPayloadsNegativeZerosAndDenormals) {
  expect_special_values<std::uint16_t>(ElementType::f16, 10);
  expect_special_values<std::uint16_t>(ElementType::bf16, 7);
  expect_special_values<std::uint32_t>(ElementType::f32, 23);
  expect_special_values<std::uint64_t>(ElementType::f64, 52);
  expect_special_values<std::uint32_t>(ElementType::c64, 23);
  expect_special_values<std::uint64_t>(ElementType::c128, 52);
}

TEST(Codec, DoesNotDependOnWhatTheContextWasUsedForBefore) {
  CodecContext used;
  Bytes payload;
  encode(used, ElementType::f64, testing::weights(ElementType::f64, 100000).raw, {}, payload);
  encode(used, ElementType::bytes, testing::noise_bytes(5000, 3), {}, payload);
  const Material material = testing::stepped_weights(ElementType::f32, 3000, 1e-4);
  encode(used, material.type, material.raw, material.base, payload);
  EXPECT_TRUE(payload == encoded(material).bytes);
}

// ---- forms --------------------------------------------------------------------------------------

TEST(Codec, StoresNoiseAsItIs) {
  const Material material{ElementType::f32, testing::noise_bytes(40000, 1), {}};
  const Payload payload = encoded(material);
  EXPECT_EQ(payload.form, Form::raw);
  EXPECT_TRUE(payload.bytes == material.raw);
}

TEST(Codec, StoresAConstantAsOneElement) {
  for (const ElementType type : kAllTypes) {
    const Payload payload = encoded({type, Bytes(4096, std::byte{3}), {}});
    EXPECT_EQ(payload.form, Form::repeat) << to_string(type);
    EXPECT_EQ(payload.bytes.size(), word_shape(type).width);
  }
}

TEST(Codec, StoresWhatDidNotChangeAsNothing) {
  for (const ElementType type : kAllTypes) {
    const Bytes bytes = testing::noise_bytes(1000, 1);
    const Payload payload = encoded({type, bytes, bytes});
    EXPECT_EQ(payload.form, Form::same) << to_string(type);
    EXPECT_TRUE(payload.bytes.empty());
  }
}

struct Expected {
  const char* what;
  Material material;
  Form form;
  double ratio_max;
};

std::vector<Expected> expected_forms() {
  constexpr auto kF32 = ElementType::f32;
  constexpr auto kF64 = ElementType::f64;
  constexpr auto kBf16 = ElementType::bf16;
  constexpr std::size_t kCount = 50000;
  return {
      {"f32 weights", testing::weights(kF32, kCount), Form::planes, .84},
      {"f64 weights", testing::weights(kF64, kCount), Form::planes, .95},
      {"bf16 weights", testing::weights(kBf16, kCount), Form::planes, .70},
      {"f32, steps", testing::stepped_weights(kF32, kCount, 1e-5), Form::scaled_class_bits, .60},
      {"f64, steps", testing::stepped_weights(kF64, kCount, 1e-5), Form::scaled_class_bits, .80},
      {"f32, shares", testing::scaled_values(kF32, kCount, 1e-4), Form::class_bits, .52},
      {"f64, shares", testing::scaled_values(kF64, kCount, 1e-4), Form::class_bits, .75},
      {"f32, redrawn", testing::redrawn_values(kF32, kCount), Form::exponent_difference, .80},
      {"f32, a third zero", testing::thinned_weights(kF32, kCount), Form::sparse_planes, .60},
      {"bf16, a third zero", testing::thinned_weights(kBf16, kCount), Form::sparse_planes, .56},
      {"f32, few", testing::few_changes(kF32, kCount), Form::class_bits, .05},
      {"bf16, few", testing::few_changes(kBf16, kCount), Form::class_bits, .05},
      {"f32, even steps", testing::evenly_stepped_weights(kF32, kCount, 1e-5),
       Form::difference_planes, .55},
  };
}

TEST(Codec, ChoosesEachFormWhereItPays) {
  for (const Expected& expected : expected_forms()) {
    const Payload payload = encoded(expected.material);
    EXPECT_EQ(static_cast<int>(payload.form), static_cast<int>(expected.form)) << expected.what;
    EXPECT_LT(static_cast<double>(payload.bytes.size()),
              expected.ratio_max * static_cast<double>(expected.material.raw.size()))
        << expected.what;
    EXPECT_TRUE(decoded(expected.material, payload) == expected.material.raw) << expected.what;
  }
}

TEST(Codec, CutsIntegersIntoPlanes) {
  std::vector<std::int64_t> counters(4000);
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] = static_cast<long>(i * i);
  const Material alone{ElementType::i64, bytes_of(counters), {}};
  const Payload direct = encoded(alone);
  EXPECT_EQ(direct.form, Form::planes);
  EXPECT_LT(direct.bytes.size() * 2, alone.raw.size());

  Material later = alone;
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += static_cast<long>(i % 3);
  later.base = alone.raw;
  later.raw = bytes_of(counters);
  const Payload difference = encoded(later);
  EXPECT_EQ(difference.form, Form::difference_planes);
  EXPECT_LT(difference.bytes.size() * 10, later.raw.size());
  EXPECT_TRUE(decoded(later, difference) == later.raw);
}

TEST(Codec, LeavesABaseAloneThatDoesNotPay) {
  Material material = testing::weights(ElementType::f32, 50000, 1);
  material.base = testing::weights(ElementType::f32, 50000, 2).raw;
  const Payload payload = encoded(material);
  EXPECT_EQ(payload.form, Form::planes);
  material.base.clear();
  EXPECT_TRUE(payload.bytes == encoded(material).bytes);
}

TEST(Codec, LeavesABaseOfAnotherLengthAlone) {
  Material material = testing::few_changes(ElementType::f32, 1000);
  material.base.resize(material.base.size() - 4);
  EXPECT_EQ(encoded(material).form, Form::planes);
}

// ---- the format ---------------------------------------------------------------------------------

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(CodecFormat, StillReadsEveryPayloadThatWasEverWritten) {
  for (const testing::Golden& golden : testing::kGolden) {
    const Material material = testing::golden_material(golden.type, golden.sparse);
    const Payload payload{static_cast<Form>(golden.codec), from_hex(golden.payload)};
    EXPECT_TRUE(decoded(material, payload) == material.raw)
        << to_string(golden.type) << ", codec " << int{golden.codec};
  }
}

struct ByHand {
  Form form;
  const char* raw;
  const char* payload;
};

// Written from docs/internals/format-codecs.md, byte by byte; the base is eight times 1.0f.
TEST(CodecFormat, IsWhatTheDocumentSays) {
  constexpr const char* kSteps = "0000803f0100803fffff7f3f0500803f0000803f0000803f0000803f0000803f";
  const ByHand examples[] = {
      {Form::repeat, "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f",
       "0000803f"},
      {Form::planes, "0000803f010080bf0200803f0300803f0400803f0500803f0600803f0700803f",
       "0000030406080a0c0e"
       "0100"
       "0100"
       "017f"},
      {Form::class_bits, kSteps,
       "01000000"
       "04"
       "000002010400000000"},
      {Form::scaled_class_bits, kSteps,
       "01000000"
       "04"
       "007f8180837f7f7f7f"},
      {Form::exponent_difference,
       "0000803f010080bf0200803f0300803f0400803f0500803f0600803f0700803f",
       "0000030406080a0c0e"
       "0100"
       "0100"
       "0100"},
      {Form::difference_planes, kSteps,
       "000002010a00000000"
       "0100"
       "0100"
       "0100"},
      {Form::sparse_planes, "000000000000803f00000000000000000000000000000000000000000000803f",
       "0182"
       "0100"
       "0100"
       "0100"
       "017f"},
  };
  const Bytes ones = from_hex("0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f");
  for (const ByHand& example : examples) {
    const Material material{ElementType::f32, from_hex(example.raw), ones};
    EXPECT_TRUE(decoded(material, {example.form, from_hex(example.payload)}) == material.raw)
        << "codec " << static_cast<int>(example.form);
  }
}

// ---- damage -------------------------------------------------------------------------------------

std::vector<std::pair<Material, Payload>> payloads_of_every_form() {
  std::vector<std::pair<Material, Payload>> all;
  for (const testing::Golden& golden : testing::kGolden) {
    all.emplace_back(testing::golden_material(golden.type, golden.sparse),
                     Payload{static_cast<Form>(golden.codec), from_hex(golden.payload)});
  }
  const Material steps = testing::stepped_weights(ElementType::f32, 600, 1e-5);
  all.emplace_back(steps, encoded(steps));
  const Bytes noise = testing::noise_bytes(100, 1);
  all.emplace_back(Material{ElementType::f32, noise, noise}, Payload{Form::raw, noise});
  all.emplace_back(Material{ElementType::f32, noise, noise}, Payload{Form::same, {}});
  all.emplace_back(Material{ElementType::f32, Bytes(100), noise}, Payload{Form::repeat, Bytes(4)});
  return all;
}

TEST(DamagedPayload, IsNoticedWhereItWasCutShort) {
  for (const auto& [material, payload] : payloads_of_every_form()) {
    for (std::size_t size = 0; size < payload.bytes.size(); ++size) {
      Payload cut = payload;
      cut.bytes.resize(size);
      EXPECT_THROW(decoded(material, cut), Damaged)
          << "codec " << static_cast<int>(payload.form) << " cut to " << size;
    }
  }
}

TEST(DamagedPayload, IsNoticedWhereBytesFollow) {
  for (auto [material, payload] : payloads_of_every_form()) {
    payload.bytes.push_back(std::byte{0});
    EXPECT_THROW(decoded(material, payload), Damaged) << "codec " << static_cast<int>(payload.form);
  }
}

// What it decodes to is for the digest to judge; here it must stay within its memory, which a
// sanitizer sees, and fail with nothing but Damaged.
TEST(DamagedPayload, WithAnyByteChangedIsDecodedOrRefused) {
  std::size_t refused = 0;
  std::size_t decodable = 0;
  for (const auto& [material, payload] : payloads_of_every_form()) {
    for (std::size_t at = 0; at < payload.bytes.size(); ++at) {
      for (const unsigned flip : {1U, 0x80U, 0xffU}) {
        Payload changed = payload;
        changed.bytes[at] ^= static_cast<std::byte>(flip);
        try {
          decoded(material, changed);
          ++decodable;
        } catch (const Damaged&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(decodable, 100U);
}

TEST(DamagedPayload, IsNoticedWhereTheCodecOrTheTypeIsUnknown) {
  const Material material{ElementType::f32, Bytes(64), Bytes(64)};
  for (unsigned codec = static_cast<unsigned>(kLastForm) + 1; codec < 256; ++codec) {
    EXPECT_THROW(decoded(material, {static_cast<Form>(codec), Bytes(64)}), Damaged);
  }
  const Material unknown{static_cast<ElementType>(99), Bytes(64), Bytes(64)};
  EXPECT_THROW(decoded(unknown, {Form::raw, Bytes(64)}), Damaged);
  const Material integers{ElementType::i32, Bytes(64), Bytes(64)};
  for (const Form form : {Form::class_bits, Form::scaled_class_bits, Form::exponent_difference,
                          Form::sparse_planes}) {
    EXPECT_THROW(decoded(integers, {form, Bytes(64)}), Damaged);
  }
}

TEST(DamagedPayload, IsNoticedWhereTheBaseIsMissingOrOfAnotherLength) {
  for (auto [material, payload] : payloads_of_every_form()) {
    if (!needs_base(payload.form)) continue;
    material.base.pop_back();
    EXPECT_THROW(decoded(material, payload), Damaged);
    material.base.clear();
    EXPECT_THROW(decoded(material, payload), Damaged);
  }
}

TEST(DamagedPayload, IsNoticedWhereADifferenceHasMoreBitsThanAWord) {
  const Material material{ElementType::f32, Bytes(32), Bytes(32)};
  EXPECT_THROW(decoded(material, {Form::class_bits, from_hex("000000000121")}), Damaged);
  EXPECT_THROW(decoded(material, {Form::scaled_class_bits, from_hex("000000000121")}), Damaged);
}

TEST(DamagedPayload, IsNoticedWhereTheBitsHaveAnotherLengthThanTheirClasses) {
  const Material material{ElementType::f32, Bytes(32), Bytes(32)};
  EXPECT_THROW(decoded(material, {Form::class_bits, from_hex("00000000"
                                                             "0109")}),
               Damaged);
  EXPECT_THROW(decoded(material, {Form::class_bits, from_hex("ffffffff"
                                                             "0109")}),
               Damaged);
  EXPECT_THROW(decoded(material, {Form::class_bits, from_hex("0100000000"
                                                             "0101")}),
               Damaged);
}

TEST(DamagedPayload, IsNoticedWhereMoreWordsAreMarkedThanThereAre) {
  const Material material{ElementType::f32, Bytes(20), Bytes(20)};
  EXPECT_THROW(decoded(material, {Form::sparse_planes, from_hex("0120"
                                                                "0100010001000100")}),
               Damaged);
}

}  // namespace
}  // namespace flor::store
