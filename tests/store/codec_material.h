// Chunks for the tests of the codec: made by formula, so that every machine has the same bytes, and
// such that the codec has reason to choose each of its forms.
#pragma once

#include <flor/store/checkpoint.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace flor::testing {

using Bytes = std::vector<std::byte>;

/// A generator whose sequence is fixed for all time (std distributions are not).
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

  std::uint64_t word() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dU;
  }
  std::uint64_t below(std::uint64_t bound) { return (word() >> 11) % bound; }
  double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  /// About normal, variance 1: a sum of uniforms, so that no library function is involved.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::uint64_t state_;
};

template <class Word>
Bytes bytes_of(const std::vector<Word>& words) {
  Bytes bytes(words.size() * sizeof(Word));
  if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// `next(i)` for each i below `count`, in the bits of the type. bf16 is a float cut in half; f16 is
/// made from the value's upper bits without rounding, small values becoming zero.
inline Bytes floats(store::ElementType type, std::size_t count,
                    const std::function<double(std::size_t)>& next) {
  std::vector<std::uint16_t> halves;
  std::vector<float> singles;
  std::vector<double> doubles;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = next(i);
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type == store::ElementType::bf16) {
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    } else if (type == store::ElementType::f16) {
      const int exponent = static_cast<int>((bits >> 23) & 255) - 127 + 15;
      const std::uint32_t magnitude =
          exponent <= 0 ? 0 : (static_cast<std::uint32_t>(exponent) << 10) | ((bits >> 13) & 1023);
      halves.push_back(static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | magnitude));
    } else if (type == store::ElementType::f64 || type == store::ElementType::c128) {
      doubles.push_back(value);
    } else {
      singles.push_back(static_cast<float>(value));
    }
  }
  if (!halves.empty()) return bytes_of(halves);
  return singles.empty() ? bytes_of(doubles) : bytes_of(singles);
}

inline Bytes noise_bytes(std::size_t count, std::uint64_t seed) {
  Noise noise(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(noise.word());
  return bytes;
}

/// A chunk and its predecessor (empty where there is none).
struct Material {
  store::ElementType type;
  Bytes raw;
  Bytes base;
};

/// Weights as they lie after training.
inline Material weights(store::ElementType type, std::size_t count, std::uint64_t seed = 1) {
  Noise noise(seed);
  return {type, floats(type, count, [&](std::size_t) { return 0.05 * noise.normal(); }), {}};
}

/// Weights of which every third row of 40 is zero, as of units that never fire.
inline Material thinned_weights(store::ElementType type, std::size_t count,
                                std::uint64_t seed = 6) {
  Noise noise(seed);
  const auto next = [&](std::size_t i) { return i / 40 % 3 == 0 ? 0 : 0.05 * noise.normal(); };
  return {type, floats(type, count, next), {}};
}

/// Weights after steps whose sizes do not depend on theirs, as Adam's do not: an absolute scale.
/// `draw` gives a step.
inline Material stepped_weights(store::ElementType type, std::size_t count,
                                const std::function<double(Noise&)>& draw, std::uint64_t seed = 2) {
  Noise noise(seed);
  std::vector<double> before(count);
  for (double& value : before) value = 0.05 * noise.normal();
  Material material{type, {}, floats(type, count, [&](std::size_t i) { return before[i]; })};
  material.raw = floats(type, count, [&](std::size_t i) { return before[i] + draw(noise); });
  return material;
}

inline Material stepped_weights(store::ElementType type, std::size_t count, double size,
                                std::uint64_t seed = 2) {
  return stepped_weights(type, count, [size](Noise& noise) { return size * noise.normal(); }, seed);
}

/// Weights that all moved by the same distance, up or down: few differences, each often.
inline Material evenly_stepped_weights(store::ElementType type, std::size_t count, double size,
                                       std::uint64_t seed = 2) {
  const auto draw = [size](Noise& noise) { return noise.uniform() < .5 ? size : -size; };
  return stepped_weights(type, count, draw, seed);
}

/// Values that grew by a small share of themselves: a relative scale.
inline Material scaled_values(store::ElementType type, std::size_t count, double share,
                              std::uint64_t seed = 3) {
  Noise noise(seed);
  std::vector<double> before(count);
  for (double& value : before) {
    value = std::ldexp(0.5 + noise.uniform() / 2, -static_cast<int>(noise.below(60)));
  }
  Material material{type, {}, floats(type, count, [&](std::size_t i) { return before[i]; })};
  material.raw =
      floats(type, count, [&](std::size_t i) { return before[i] * (1 + share * noise.normal()); });
  return material;
}

/// Values whose size stays while their digits change altogether.
inline Material redrawn_values(store::ElementType type, std::size_t count, std::uint64_t seed = 4) {
  Noise noise(seed);
  std::vector<int> exponents(count);
  for (int& exponent : exponents) exponent = -static_cast<int>(noise.below(64));
  const auto draw = [&](std::size_t i) {
    return std::ldexp(noise.uniform() < .5 ? 0.5 + noise.uniform() / 2 : -0.5 - noise.uniform() / 2,
                      exponents[i]);
  };
  Material material{type, floats(type, count, draw), {}};
  material.base = floats(type, count, draw);
  return material;
}

/// Weights of which only a few changed.
inline Material few_changes(store::ElementType type, std::size_t count, std::uint64_t seed = 5) {
  Material material = weights(type, count, seed);
  material.base = material.raw;
  Noise noise(seed + 1);
  for (std::size_t i = 0; i < count / 500 + 1; ++i) {
    material.raw[noise.below(material.raw.size())] ^= std::byte{1};
  }
  return material;
}

}  // namespace flor::testing
