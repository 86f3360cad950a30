#include <flor/data/samplers.h>

#include <flor/store/error.h>

#include <torch/serialize.h>

#include <utility>

namespace flor {
namespace {

constexpr const char* kKey = "flor_position";

SampleSetup setup_of(std::uint64_t samples, DistributedSamplerOptions& options) {
  return {.samples = samples,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .tail = options.tail,
          .sharded = options.sharded,
          .data = std::move(options.data),
          .record = std::move(options.record)};
}

SampleSetup setup_of(std::vector<std::int64_t> groups, std::uint64_t batch_size,
                     DistributedSamplerOptions& options) {
  SampleSetup setup = setup_of(groups.size(), options);
  setup.groups = std::move(groups);
  setup.batch_size = batch_size;
  return setup;
}

}  // namespace

void StreamSampler::reset(::torch::optional<std::size_t> new_size) {
  const std::uint64_t samples = stream_->setup().samples;
  if (new_size && *new_size != samples) {
    throw Error("the sampler was made for " + std::to_string(samples) +
                " samples, but the data set now has " + std::to_string(*new_size) +
                ": make a new sampler for it");
  }
  stream_->begin();
}

::torch::optional<std::vector<std::size_t>> StreamSampler::next(std::size_t batch_size) {
  std::optional<std::vector<std::size_t>> samples = stream_->next(batch_size);
  if (!samples) return ::torch::nullopt;
  return std::move(*samples);
}

void StreamSampler::save(::torch::serialize::OutputArchive& archive) const {
  archive.write(kKey, c10::IValue(stream_->print()));
}

void StreamSampler::load(::torch::serialize::InputArchive& archive) {
  c10::IValue text;
  archive.read(kKey, text);
  stream_->parse(text.toStringRef());
}

InterruptibleSampler::InterruptibleSampler(std::uint64_t samples, SamplerOptions options)
    : StreamSampler({.samples = samples,
                     .shuffle = options.shuffle,
                     .seed = options.seed,
                     .data = std::move(options.data),
                     .record = std::move(options.record)},
                    1, 0) {}

InterruptibleDistributedSampler::InterruptibleDistributedSampler(std::uint64_t samples,
                                                                 DistributedSamplerOptions options)
    : StreamSampler(setup_of(samples, options), options.world, options.rank) {}

InterruptibleDistributedGroupedBatchSampler::InterruptibleDistributedGroupedBatchSampler(
    std::vector<std::int64_t> groups, std::uint64_t batch_size, DistributedSamplerOptions options)
    : StreamSampler(setup_of(std::move(groups), batch_size, options), options.world, options.rank) {
}

}  // namespace flor
