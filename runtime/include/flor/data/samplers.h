// Samplers for libtorch's data loaders. They can be interrupted at any position, and resumed by
// any number of replicas without losing a sample or using one twice:
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
// Unlike most headers of Flor it includes headers of libtorch.
#pragma once

#include <flor/data/sample_stream.h>

#include <torch/data/samplers/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flor {

/// The common base of the three samplers. It is a handle: the copy that a data loader makes shares
/// its position with the program's own. SampleStream describes the functions of the same names and
/// their errors. All functions belong to the thread that iterates the loader, which also draws the
/// samples for the loader's worker threads. The loader must keep batches in order, which is its
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

  /// Reports the oldest batch not reported yet as used for training. Call it after each step.
  void advance() { stream_->advance(); }
  /// Reports `units` units as used for training: samples, or batches of a group sampler.
  void advance(std::int64_t units) { stream_->advance(units); }
  /// Units in this replica's share of the epoch: samples, or batches of a group sampler.
  std::uint64_t size() const { return stream_->size(); }
  /// Units consumed of the share. See SampleStream::consumed.
  std::uint64_t consumed() const { return stream_->consumed(); }
  std::uint64_t remaining() const { return stream_->remaining(); }  ///< units not consumed yet
  void agree(Group& group) { stream_->agree(group); }               ///< see SampleStream::agree

  SampleStream& stream() { return *stream_; }              ///< its position and order
  const SampleStream& stream() const { return *stream_; }  ///< its position and order

  /// Called by the data loader when it begins a pass.
  void reset(::torch::optional<std::size_t> new_size = ::torch::nullopt) override;
  /// Called by the data loader to draw a batch.
  ::torch::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;

  void save(::torch::serialize::OutputArchive& archive) const override;  ///< for torch::save
  void load(::torch::serialize::InputArchive& archive) override;         ///< for torch::load

  void save(const StateWriter& writer) const { stream_->save(writer); }  ///< for flor::checkpoints
  void load(const StateReader& reader) { stream_->load(reader); }        ///< for flor::checkpoints

 protected:
  /// Called by the three samplers.
  StreamSampler(SampleSetup setup, std::uint64_t world, std::uint64_t rank)
      : stream_(std::make_shared<SampleStream>(std::move(setup), world, rank)) {}

 private:
  std::shared_ptr<SampleStream> stream_;
};

/// Options of InterruptibleSampler.
struct SamplerOptions {
  std::uint64_t seed = 0;            ///< together with the epoch, determines the order
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  std::string data = {};           ///< any text that identifies the data set, see SampleSetup
  std::string record = "samples";  ///< name of the logged records, see SampleSetup
};

/// Visits all samples of a data set in one process.
class InterruptibleSampler final : public StreamSampler {
 public:
  /// Visits the samples [0, samples).
  explicit InterruptibleSampler(std::uint64_t samples, SamplerOptions options = {});
};

/// Options of the samplers that share samples among replicas.
struct DistributedSamplerOptions {
  std::uint64_t world = 1;  ///< number of replicas
  std::uint64_t rank = 0;   ///< of this replica
  std::uint64_t seed = 0;            ///< together with the epoch, determines the order
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  Tail tail = Tail::repeat;          ///< what happens to the last samples
  /// Each replica gets samples of its own lane in every epoch, see SampleSetup.
  bool sharded = false;
  std::string data = {};           ///< any text that identifies the data set, see SampleSetup
  std::string record = "samples";  ///< name of the logged records, see SampleSetup
};

/// Visits one replica's share of the samples. With Shuffle::torch and Tail::repeat or drop these
/// are the samples of Python's torch.utils.data.DistributedSampler with the same seed, epoch,
/// number of replicas and drop_last, unless the epoch is resumed by another number of replicas.
class InterruptibleDistributedSampler final : public StreamSampler {
 public:
  /// Shares the samples [0, samples) among the replicas.
  explicit InterruptibleDistributedSampler(std::uint64_t samples,
                                           DistributedSamplerOptions options);
};

/// Visits batches whose samples are all of one group (such as pictures of one shape), see
/// GroupedBatches. Progress is counted in batches. The data loader must have the same batch size.
class InterruptibleDistributedGroupedBatchSampler final : public StreamSampler {
 public:
  /// `groups` has a number for each sample; samples with equal numbers are of one group.
  InterruptibleDistributedGroupedBatchSampler(std::vector<std::int64_t> groups,
                                              std::uint64_t batch_size,
                                              DistributedSamplerOptions options);
};

}  // namespace flor
