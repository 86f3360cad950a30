// Measures the codec on chunks of each kind, and zstd -3 on the same chunks. Rates are bytes of raw
// data per second of processor time.
#include "codec/codec.h"
#include "codec/codec_forms.h"
#include "store/codec_material.h"

#include <flor/store/digest.h>

#include <benchmark/benchmark.h>
#include <zstd.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace {

using flor::store::ElementType;
using flor::testing::Bytes;
using flor::testing::Material;

constexpr std::size_t kSingles = flor::store::kChunkBytes / 4;

struct Case {
  const char* name;
  Material (*make)();
};

const Case kCases[] = {
    {"f32_direct", [] { return flor::testing::weights(ElementType::f32, kSingles); }},
    {"f32_steps", [] { return flor::testing::stepped_weights(ElementType::f32, kSingles, 1e-3); }},
    {"f32_shares", [] { return flor::testing::scaled_values(ElementType::f32, kSingles, 1e-2); }},
    {"f32_redrawn", [] { return flor::testing::redrawn_values(ElementType::f32, kSingles); }},
    {"f32_even_steps",
     [] { return flor::testing::evenly_stepped_weights(ElementType::f32, kSingles, 1e-5); }},
    {"bf16_direct", [] { return flor::testing::weights(ElementType::bf16, 2 * kSingles); }},
    {"bf16_steps",
     [] { return flor::testing::stepped_weights(ElementType::bf16, 2 * kSingles, 1e-3); }},
    {"f64_direct", [] { return flor::testing::weights(ElementType::f64, kSingles / 2); }},
    {"f64_steps",
     [] { return flor::testing::stepped_weights(ElementType::f64, kSingles / 2, 1e-3); }},
};

void report(benchmark::State& state, const Material& material, std::size_t stored) {
  const auto raw = static_cast<double>(material.raw.size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(material.raw.size()));
  state.counters["stored/raw"] = static_cast<double>(stored) / raw;
}

void encode(benchmark::State& state, const Case& test) {
  const Material material = test.make();
  flor::store::CodecContext context;
  Bytes payload;
  flor::store::Encoded encoded;
  for (auto step : state) {
    encoded = flor::store::encode(context, material.type, material.raw, material.base, payload);
    benchmark::DoNotOptimize(payload.data());
  }
  state.counters["codec"] = encoded.codec;
  report(state, material, payload.size());
}

void decode(benchmark::State& state, const Case& test) {
  const Material material = test.make();
  flor::store::CodecContext context;
  Bytes payload;
  const auto encoded =
      flor::store::encode(context, material.type, material.raw, material.base, payload);
  Bytes raw(material.raw.size());
  for (auto step : state) {
    flor::store::decode(context, encoded.codec, material.type, payload, material.base, raw);
    benchmark::DoNotOptimize(raw.data());
  }
  if (raw != material.raw) throw std::runtime_error("decoding gave other bytes");
  report(state, material, payload.size());
}

void zstd_3(benchmark::State& state, const Case& test) {
  const Material material = test.make();
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  Bytes payload(ZSTD_compressBound(material.raw.size()));
  std::size_t stored = 0;
  for (auto step : state) {
    stored = ZSTD_compressCCtx(context.get(), payload.data(), payload.size(), material.raw.data(),
                               material.raw.size(), 3);
    benchmark::DoNotOptimize(payload.data());
  }
  report(state, material, stored);
}

const bool kRegistered = [] {
  for (const Case& test : kCases) {
    const std::string name = test.name;
    benchmark::RegisterBenchmark(("encode/" + name).c_str(), encode, test);
    benchmark::RegisterBenchmark(("decode/" + name).c_str(), decode, test);
    benchmark::RegisterBenchmark(("zstd_3/" + name).c_str(), zstd_3, test);
  }
  return true;
}();

}  // namespace
