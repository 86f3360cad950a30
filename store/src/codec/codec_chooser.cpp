#include "codec/codec_chooser.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flor::store {
namespace {

using kernels::Byte;

constexpr std::size_t kStrips = 128;
constexpr std::size_t kStripWords = 16;
constexpr std::size_t kSampleWords = kStrips * kStripWords;
// Entropy, in bits per byte, above which a zstd frame would save too little to be used.
constexpr double kEvenBits = 7.75;
constexpr double kBaseMustSave = 0.03;
constexpr double kZerosMustSave = 0.01;
// At least one in this number of words must be zero, or sparse planes are not considered.
constexpr std::size_t kZerosMin = 64;
// The sample underestimates difference planes, whose streams have the most distinct bytes, so they
// must save this share to be chosen.
constexpr double kDifferencePlanesMustSave = 0.01;

/// A form, its expected size, and which of its streams to compress.
struct FormCandidate {
  Choice choice;
  double bits_per_word = 0;
};

/// Table of x log2(x) for all counts that a sample can have.
const std::array<float, kSampleWords + 1>& count_logs() {
  static const auto table = [] {
    std::array<float, kSampleWords + 1> logs{};
    for (std::size_t i = 2; i < logs.size(); ++i) {
      const auto count = static_cast<double>(i);
      logs[i] = static_cast<float>(count * std::log2(count));
    }
    return logs;
  }();
  return table;
}

/// Entropy in bits of a bit that is 1 with this probability.
double bit_entropy(double share) {
  if (share <= 0 || share >= 1) return 0;
  return -share * std::log2(share) - (1 - share) * std::log2(1 - share);
}

/// Returns the expected size of a compressed stream in bits per byte.
double stream_bits(const Byte* bytes, std::size_t count) {
  if (count == 0) return 0;
  std::array<std::uint32_t, 256> histogram{};
  for (std::size_t i = 0; i < count; ++i) ++histogram[bytes[i]];
  const auto& logs = count_logs();
  const double total = static_cast<double>(count);
  float sum = 0;
  std::size_t distinct = 0;
  for (const std::uint32_t times : histogram) {
    sum += logs[times];
    distinct += times != 0 ? 1 : 0;
  }
  if (distinct == 1) return 0;
  double bits = (static_cast<double>(logs[count]) - static_cast<double>(sum)) / total;
  // A sample has fewer distinct values than the whole (Miller-Madow correction).
  bits += static_cast<double>(distinct - 1) / (2 * total * std::log(2.0));
  // Prefix codes need at least one bit per symbol; only runs of the same symbol take less.
  return std::min(8.0, std::max(bits, std::min(1.0, 2 * bits)));
}

/// Copies strips of words from everywhere in the chunk. The distances between them vary: equal
/// distances that are a multiple of a matrix's row length would always hit the same columns.
class Sampler {
 public:
  Sampler(WordShape shape, std::size_t count) : width_(shape.width), count_(count) {}

  std::size_t size() const { return std::min(count_, kSampleWords); }

  void copy(const Byte* words, Byte* out) const {
    if (count_ <= kSampleWords) {
      std::memcpy(out, words, count_ * width_);
      return;
    }
    const std::size_t stride = count_ / kStrips;
    std::uint32_t noise = 1;
    for (std::size_t strip = 0; strip < kStrips; ++strip) {
      noise = noise * 1664525U + 1013904223U;
      const std::size_t start = strip * stride + (noise >> 8) % (stride - kStripWords + 1);
      std::memcpy(out, words + start * width_, kStripWords * width_);
      out += kStripWords * width_;
    }
  }

 private:
  std::size_t width_;
  std::size_t count_;
};

/// Holds the sample and values derived from it, and estimates the size of one form after another.
class Judge {
 public:
  Judge(WordShape shape, std::size_t size, Scratch& scratch) : shape_(shape), size_(size) {
    const std::size_t bytes = kSampleWords * shape.width;
    words_ = scratch.reserve(4 * bytes + 2 * kSampleWords);
    base_ = words_ + bytes;
    values_ = base_ + bytes;
    planes_ = values_ + bytes;
    classes_ = planes_ + bytes;
    symbols_ = classes_ + kSampleWords;
  }

  Byte* words() { return words_; }
  Byte* base() { return base_; }

  FormCandidate direct() {
    kernels::split(shape_, words_, size_, planes_);
    return planes_candidate(Form::planes, size_);
  }

  /// Returns `direct`, or sparse planes if leaving out zeros saves enough.
  FormCandidate best_without_base(const FormCandidate& direct) {
    const std::size_t kept = kernels::keep_nonzero(shape_, words_, size_, classes_, values_);
    if (kept > size_ - size_ / kZerosMin) return direct;
    const double share = static_cast<double>(kept) / static_cast<double>(size_);
    kernels::split(shape_, values_, kept, planes_);
    FormCandidate candidate = planes_candidate(Form::sparse_planes, kept);
    candidate.bits_per_word = share * candidate.bits_per_word + bit_entropy(share);
    const bool pays = candidate.bits_per_word < (1 - kZerosMustSave) * direct.bits_per_word;
    return pays ? candidate : direct;
  }

  FormCandidate exponent_difference(const FormCandidate& direct) {
    FormCandidate candidate = direct;
    candidate.choice.form = Form::exponent_difference;
    Byte* upper = classes_;
    kernels::upper_plane(shape_, words_, size_, upper);
    const double before = stream_bits(upper, size_);
    kernels::upper_plane(shape_, base_, size_, symbols_);
    kernels::subtract_bytes(upper, symbols_, size_, symbols_);
    const double after = stream_bits(symbols_, size_);
    candidate.bits_per_word += after - before;
    candidate.choice.compress[shape_.width - 1] = after < kEvenBits;
    return candidate;
  }

  void take_differences() {
    kernels::subtract(shape_, words_, base_, size_, values_);
    kernels::classify(shape_, values_, size_, classes_);
  }

  FormCandidate class_bits() { return class_candidate(Form::class_bits, classes_); }

  FormCandidate scaled_class_bits() {
    kernels::add_exponents(shape_, classes_, base_, size_, symbols_);
    return class_candidate(Form::scaled_class_bits, symbols_);
  }

  FormCandidate difference_planes() {
    const WordShape plain{shape_.width, false, 0};
    kernels::split(plain, values_, size_, planes_);
    return planes_candidate(Form::difference_planes, size_);
  }

 private:
  FormCandidate planes_candidate(Form form, std::size_t count) const {
    FormCandidate candidate;
    candidate.choice.form = form;
    for (unsigned p = 0; p < shape_.width; ++p) {
      const double bits = stream_bits(planes_ + p * count, count);
      candidate.choice.compress[p] = bits < kEvenBits;
      candidate.bits_per_word += bits;
    }
    return candidate;
  }

  FormCandidate class_candidate(Form form, const Byte* symbols) const {
    FormCandidate candidate;
    candidate.choice.form = form;
    candidate.choice.compress[0] = true;
    const auto rest = static_cast<double>(kernels::packed_bits(classes_, size_));
    candidate.bits_per_word = stream_bits(symbols, size_) + rest / static_cast<double>(size_);
    return candidate;
  }

  WordShape shape_;
  std::size_t size_;
  Byte* words_;
  Byte* base_;
  Byte* values_;
  Byte* planes_;
  Byte* classes_;
  Byte* symbols_;
};

}  // namespace

Choice choose(WordShape shape, const std::uint8_t* words, const std::uint8_t* base,
              std::size_t count, Scratch& scratch) {
  const Sampler sampler(shape, count);
  Judge judge(shape, sampler.size(), scratch);
  sampler.copy(words, judge.words());
  const FormCandidate planes = judge.direct();
  const FormCandidate direct = judge.best_without_base(planes);
  if (base == nullptr) return direct.choice;

  sampler.copy(base, judge.base());
  FormCandidate best = judge.exponent_difference(planes);
  judge.take_differences();
  for (const FormCandidate& candidate : {judge.class_bits(), judge.scaled_class_bits()}) {
    if (candidate.bits_per_word < best.bits_per_word) best = candidate;
  }
  const FormCandidate differences = judge.difference_planes();
  if (differences.bits_per_word < (1 - kDifferencePlanesMustSave) * best.bits_per_word) {
    best = differences;
  }
  const bool pays = best.bits_per_word <= (1 - kBaseMustSave) * direct.bits_per_word;
  return pays ? best.choice : direct.choice;
}

}  // namespace flor::store
