// A data set of which each replica holds a part, in its memory or on its device.
//
// Unlike most headers of Flor it includes headers of libtorch.
#pragma once

#include <flor/data/images.h>
#include <flor/data/sample_order.h>

#include <torch/data/datasets/base.h>
#include <torch/data/example.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flor {

using Example = ::torch::data::Example<>;
using ExampleTransform = std::function<Example(Example)>;

/// Which part of the data a replica holds.
struct ShardOptions {
  std::uint64_t world = 1;  ///< number of replicas
  std::uint64_t rank = 0;   ///< of this replica
  std::uint64_t seed = 0;   ///< of the shuffling that deals the samples to lanes
  Shuffle shuffle = Shuffle::torch;  ///< of the shuffling that deals the samples to lanes
  /// The part of all samples that this replica holds, above 0 and up to 1. 0 means its lane, which
  /// is one of `world` equal parts. With more than a lane it also holds samples of the next lanes.
  /// With less, the other samples of its lane are read each time they are asked for.
  double share = 0;
  /// The device on which held samples are kept, after `load` was applied.
  at::Device device = at::kCPU;
  ExampleTransform load = {};  ///< applied once, when a sample is read
  ExampleTransform get = {};  ///< applied each time; from several threads if the loader has workers
};

/// A data set in which samples have their numbers in the whole data set. Any sample can be asked
/// for; those that the replica holds are only quicker to get. So no sample is lost or used twice
/// when the number of replicas changes, even in the middle of an epoch: the sampler says which
/// samples are due, and `reshard` changes which are held. Give the sampler the same seed and
/// shuffle: it then asks each replica for samples that it holds, except in the rest of an epoch
/// that another number of replicas began.
///
///   auto data = flor::DistributedShardedDataset::of_images("train", {.world = 4, .rank = rank});
///   flor::InterruptibleDistributedSampler sampler(
///       *data.size(), {.world = 4, .rank = rank, .sharded = true, .data = data.fingerprint()});
///
/// It is a handle: copies, such as those of a data loader's workers, share the held samples.
/// `get_batch` may be called from several threads, but not during `reshard`.
class DistributedShardedDataset
    : public ::torch::data::datasets::Dataset<DistributedShardedDataset, Example> {
 public:
  /// Reads one sample, and must return the same each time. Called from several threads if the
  /// loader has workers and not all samples are held.
  using Read = std::function<Example(std::size_t index)>;

  /// Makes a data set of whatever `read` reads, and reads the samples to hold at once.
  /// `fingerprint` is any text that identifies the data set. Throws flor::Error if `size` is 0, or
  /// an option is invalid.
  DistributedShardedDataset(std::size_t size, Read read, std::string fingerprint,
                            ShardOptions options);

  /// Makes a data set of a folder of images (see find_images). An example is a float tensor of
  /// shape [3, height, width] with values from 0 to 1, and the index of the class.
  static DistributedShardedDataset of_images(const std::filesystem::path& root,
                                             ShardOptions options);

  /// Makes a data set of one of libtorch's that returns single examples (by `get`, or by
  /// `get_batch` of one index) and can be called from any thread.
  template <typename Dataset>
  static DistributedShardedDataset over(Dataset dataset, std::string fingerprint,
                                        ShardOptions options) {
    const auto shared = std::make_shared<Dataset>(std::move(dataset));
    const auto read = [shared](std::size_t index) -> Example {
      if constexpr (requires { shared->get(index); }) {
        return shared->get(index);
      } else {
        return shared->get_batch(c10::ArrayRef<std::size_t>(index)).at(0);
      }
    };
    return DistributedShardedDataset(*shared->size(), read, std::move(fingerprint),
                                     std::move(options));
  }

  /// The sample of that number, whether it is held or not.
  Example get(std::size_t index) override;
  /// The number of samples in the whole data set.
  c10::optional<std::size_t> size() const override;

  /// Switches to the lane of `rank` among `world` replicas. Reads only samples that were not held.
  void reshard(std::uint64_t world, std::uint64_t rank);

  /// The numbers of the held samples, in the order in which they were dealt.
  std::vector<std::size_t> held() const;
  /// How often a sample was read because it was not held, since the construction.
  std::uint64_t reads_beyond() const;
  const std::string& fingerprint() const;  ///< identifies the data set, see SampleSetup
  /// Names of the classes; empty unless the data set was made of a folder.
  const std::vector<std::string>& classes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flor
