// Samplers for libtorch's data loaders that can be interrupted at any place, and resumed by any
// number of replicas without a sample lost or used twice:
//
//   flor::InterruptibleDistributedSampler sampler(size, {.world = 4, .rank = rank, .seed = 1});
//   auto loader = torch::data::make_data_loader(dataset, sampler, batch_size);
//   const auto state = flor::checkpoints(net, optimizer, sampler);
//   for (int epoch : flor::loop("epoch", epochs)) {
//     sampler.set_epoch(epoch);
//     for (auto& batch : flor::loop("train", *loader)) {
//       ...; optimizer.step();
//       sampler.advance();  // this batch has been used; what the loader read ahead has not
//     }
//   }
//
// One of the few headers of Flor that include libtorch's.
#pragma once

#include <flor/data/sample_stream.h>

#include <torch/data/samplers/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flor {

/// The common base of the three samplers. A handle: the copy that a data loader takes shares its
/// position with the one that the program keeps. See SampleStream for the behaviour and the errors
/// of its functions; all of them are for the thread that iterates the loader, which is also the one
/// that draws for the loader's workers. The loader has to keep batches in order, as it does by
/// default (`enforce_ordering`).
class StreamSampler : public ::torch::data::samplers::Sampler<> {
 public:
  std::uint64_t epoch() const { return stream_->epoch(); }  ///< see SampleStream::epoch
  /// See SampleStream::resume_epoch.
  std::uint64_t resume_epoch() const { return stream_->resume_epoch(); }
  /// See SampleStream::set_epoch.
  void set_epoch(std::uint64_t epoch) { stream_->set_epoch(epoch); }
  void end_epoch() { stream_->end_epoch(); }             ///< see SampleStream::end_epoch
  bool complete() const { return stream_->complete(); }  ///< see SampleStream::complete

  /// After each step: the batch that was trained on has been used.
  void advance() { stream_->advance(); }
  void advance(std::int64_t units) { stream_->advance(units); }  ///< the same in units
  /// In units: samples, or batches of a group sampler.
  std::uint64_t size() const { return stream_->size(); }
  /// Since the share was last dealt.
  std::uint64_t consumed() const { return stream_->consumed(); }
  std::uint64_t remaining() const { return stream_->remaining(); }  ///< of this epoch
  void agree(Group& group) { stream_->agree(group); }               ///< see SampleStream::agree

  SampleStream& stream() { return *stream_; }              ///< its position and order
  const SampleStream& stream() const { return *stream_; }  ///< its position and order

  /// For the data loader.
  void reset(::torch::optional<std::size_t> new_size = ::torch::nullopt) override;
  /// For the data loader.
  ::torch::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;

  void save(::torch::serialize::OutputArchive& archive) const override;  ///< for torch::save
  void load(::torch::serialize::InputArchive& archive) override;         ///< for torch::load

  void save(const StateWriter& writer) const { stream_->save(writer); }  ///< for flor::checkpoints
  void load(const StateReader& reader) { stream_->load(reader); }        ///< for flor::checkpoints

 protected:
  /// For the samplers below.
  StreamSampler(SampleSetup setup, std::uint64_t world, std::uint64_t rank)
      : stream_(std::make_shared<SampleStream>(std::move(setup), world, rank)) {}

 private:
  std::shared_ptr<SampleStream> stream_;
};

/// Options of InterruptibleSampler.
struct SamplerOptions {
  std::uint64_t seed = 0;            ///< with the epoch it gives the order
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  std::string data = {};           ///< anything that tells data sets apart, see SampleSetup
  std::string record = "samples";  ///< see SampleSetup
};

/// All samples of a data set for one process.
class InterruptibleSampler final : public StreamSampler {
 public:
  /// Samples [0, samples).
  explicit InterruptibleSampler(std::uint64_t samples, SamplerOptions options = {});
};

/// How samples are shared among replicas.
struct DistributedSamplerOptions {
  std::uint64_t world = 1;  ///< replicas
  std::uint64_t rank = 0;   ///< of this one
  std::uint64_t seed = 0;            ///< with the epoch it gives the order
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  Tail tail = Tail::repeat;          ///< how unequal shares are filled
  bool sharded = false;  ///< each replica gets its own samples in every epoch, see SampleSetup
  std::string data = {};           ///< anything that tells data sets apart, see SampleSetup
  std::string record = "samples";  ///< see SampleSetup
};

/// The share of one of several replicas. With Shuffle::torch and Tail::repeat or drop the samples
/// are those of Python's torch.utils.data.DistributedSampler with the same seed, epoch, number of
/// replicas and drop_last, as long as the epoch is not resumed by another number of replicas.
class InterruptibleDistributedSampler final : public StreamSampler {
 public:
  /// Samples [0, samples), shared among the replicas.
  explicit InterruptibleDistributedSampler(std::uint64_t samples,
                                           DistributedSamplerOptions options);
};

/// Batches of samples of one group each (pictures of one shape). Progress is counted in batches.
/// Give the data loader the same batch size. See GroupedBatches.
class InterruptibleDistributedGroupedBatchSampler final : public StreamSampler {
 public:
  /// `groups`: a number for each sample.
  InterruptibleDistributedGroupedBatchSampler(std::vector<std::int64_t> groups,
                                              std::uint64_t batch_size,
                                              DistributedSamplerOptions options);
};

}  // namespace flor
