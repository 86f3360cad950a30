// A data set of which each replica holds a part in memory, or on its device.
//
// One of the few headers of Flor that include libtorch's.
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

/// The part of the data that a replica holds.
struct ShardOptions {
  std::uint64_t world = 1;  ///< replicas
  std::uint64_t rank = 0;   ///< of this one
  std::uint64_t seed = 0;   ///< of the shuffling that deals the samples out
  Shuffle shuffle = Shuffle::torch;  ///< how the order is made
  /// The part of all samples that this replica holds, above 0 and up to 1; 0: its lane, which is
  /// one of `world` equal parts. More than a lane: samples of the next lanes, too. Less: the
  /// samples that are not held are read each time they are asked for.
  double share = 0;
  /// Where held samples are kept, after `load`.
  at::Device device = at::kCPU;
  ExampleTransform load = {};  ///< applied once, when a sample is read
  ExampleTransform get = {};  ///< applied each time; from several threads if the loader has workers
};

/// Samples are known by their numbers in the whole data set, and every sample can be asked for;
/// samples that the replica holds are only quicker. So no sample is lost or doubled when the number
/// of replicas changes, in the middle of an epoch too: the sampler says which samples are due, and
/// `reshard` moves the held ones. Give the sampler the same seed and shuffle: it then asks each
/// replica for samples it holds, except in the rest of an epoch that other replicas began.
///
///   auto data = flor::DistributedShardedDataset::of_images("train", {.world = 4, .rank = rank});
///   flor::InterruptibleDistributedSampler sampler(
///       *data.size(), {.world = 4, .rank = rank, .sharded = true, .data = data.fingerprint()});
///
/// A handle: copies, as each worker of a data loader has one, share what is held. `get_batch` may
/// be called from several threads, but not during `reshard`.
class DistributedShardedDataset
    : public ::torch::data::datasets::Dataset<DistributedShardedDataset, Example> {
 public:
  /// Reads one sample; has to give the same each time. Called from several threads if the loader
  /// has workers and not all samples are held.
  using Read = std::function<Example(std::size_t index)>;

  /// Over anything. `fingerprint` tells data sets apart. Reads the replica's samples at once.
  /// Throws flor::Error if there are none, or the options cannot be.
  DistributedShardedDataset(std::size_t size, Read read, std::string fingerprint,
                            ShardOptions options);

  /// Over a folder of pictures, see find_images: [3, height, width] of float from 0 to 1, and the
  /// number of the class.
  static DistributedShardedDataset of_images(const std::filesystem::path& root,
                                             ShardOptions options);

  /// Over a data set of libtorch that gives single examples (by `get`, or by `get_batch` of one),
  /// from any thread.
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

  /// The sample of that number, held or not.
  Example get(std::size_t index) override;
  /// The number of samples in the whole data set.
  c10::optional<std::size_t> size() const override;

  /// Holds the lane of another rank among other replicas; reads only samples that are new.
  void reshard(std::uint64_t world, std::uint64_t rank);

  /// Numbers of the samples that are held, in the order in which they were dealt.
  std::vector<std::size_t> held() const;
  /// Samples that had to be read although they were not held, since the construction.
  std::uint64_t reads_beyond() const;
  const std::string& fingerprint() const;  ///< tells data sets apart, see SampleSetup
  /// Names of the classes; empty unless it was made of a folder.
  const std::vector<std::string>& classes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flor
